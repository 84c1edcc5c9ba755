#include "transport/tcp/tcp_mac.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>
#include <string>
#include <vector>

#include "eave/check.h"

namespace eave {
namespace {

void check_crypto(bool is_good, const char* statement) {
  if (is_good) return;
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  throw Error(ExitCode::kResource, std::string("libcrypto failed: ") + text.data() + " in " + statement);
}

EVP_CIPHER_CTX* cipher(void* context) { return static_cast<EVP_CIPHER_CTX*>(context); }

const unsigned char* letters(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Secret random_secret() {
  Secret secret;
  check_crypto(RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), static_cast<int>(secret.size())) == 1,
               "RAND_bytes");
  return secret;
}

Secret hmac(const Secret& key, std::initializer_list<std::span<const std::byte>> parts) {
  std::vector<std::byte> text;
  for (const auto part : parts) text.insert(text.end(), part.begin(), part.end());
  Secret code;
  unsigned length = 0;
  check_crypto(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), letters(text), text.size(),
                    reinterpret_cast<unsigned char*>(code.data()), &length) != nullptr,
               "HMAC");
  return code;
}

Secret secret_of(std::string_view words) { return hmac(Secret{}, {bytes_of("eave's secret"), bytes_of(words)}); }

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void MessageMac::Free::operator()(void* context) const { EVP_CIPHER_CTX_free(cipher(context)); }

MessageMac::MessageMac(const MacKey& key, bool uses_ghash) : context_(EVP_CIPHER_CTX_new()) {
  const EVP_CIPHER* const kind = uses_ghash ? EVP_aes_128_ecb() : EVP_aes_128_gcm();
  check_crypto(context_ && EVP_EncryptInit_ex(cipher(context_.get()), kind, nullptr, letters(key), nullptr) == 1,
               "EVP_EncryptInit_ex");
  if (!uses_ghash) return;
  check_crypto(EVP_CIPHER_CTX_set_padding(cipher(context_.get()), 0) == 1, "EVP_CIPHER_CTX_set_padding");
  hash_.emplace(encrypt({}));
}

MacTag MessageMac::encrypt(const MacTag& block) {
  MacTag code;
  int length = 0;
  check_crypto(EVP_EncryptUpdate(cipher(context_.get()), reinterpret_cast<unsigned char*>(code.data()), &length,
                                 letters(block), static_cast<int>(block.size())) == 1 &&
                   length == static_cast<int>(code.size()),
               "EVP_EncryptUpdate");
  return code;
}

void MessageMac::begin() {
  ++number_;
  if (hash_) return hash_->begin();
  std::array<unsigned char, 12> nonce{};
  std::memcpy(nonce.data(), &number_, sizeof number_);
  check_crypto(EVP_EncryptInit_ex(cipher(context_.get()), nullptr, nullptr, nullptr, nonce.data()) == 1,
               "EVP_EncryptInit_ex");
}

void MessageMac::add(std::span<const std::byte> bytes) {
  if (hash_) return hash_->add(bytes);
  if (bytes.empty()) return;
  int length = 0;
  check_crypto(
      EVP_EncryptUpdate(cipher(context_.get()), nullptr, &length, letters(bytes), static_cast<int>(bytes.size())) == 1,
      "EVP_EncryptUpdate");
}

// GCM's first counter is the nonce with a 1 behind it. Its cipher hides the hash.
MacTag MessageMac::end() {
  MacTag tag{};
  if (hash_) {
    std::memcpy(tag.data(), &number_, sizeof number_);
    tag.back() = std::byte{1};
    tag = encrypt(tag);
    const MacTag hash = hash_->end();
    for (std::size_t at = 0; at < tag.size(); ++at) tag[at] ^= hash[at];
    return tag;
  }
  int length = 0;
  auto* const letters_of_tag = reinterpret_cast<unsigned char*>(tag.data());
  EVP_CIPHER_CTX* const context = cipher(context_.get());
  check_crypto(EVP_EncryptFinal_ex(context, letters_of_tag, &length) == 1, "EVP_EncryptFinal_ex");
  check_crypto(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data()) == 1,
               "EVP_CIPHER_CTX_ctrl");
  return tag;
}

}  // namespace eave
