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

MessageMac::MessageMac(const MacKey& key) : context_(EVP_CIPHER_CTX_new()) {
  check_crypto(
      context_ && EVP_EncryptInit_ex(cipher(context_.get()), EVP_aes_128_gcm(), nullptr, letters(key), nullptr) == 1,
      "EVP_EncryptInit_ex");
}

void MessageMac::begin() {
  std::array<unsigned char, 12> nonce{};
  ++number_;
  std::memcpy(nonce.data(), &number_, sizeof number_);
  check_crypto(EVP_EncryptInit_ex(cipher(context_.get()), nullptr, nullptr, nullptr, nonce.data()) == 1,
               "EVP_EncryptInit_ex");
}

void MessageMac::add(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  int length = 0;
  check_crypto(
      EVP_EncryptUpdate(cipher(context_.get()), nullptr, &length, letters(bytes), static_cast<int>(bytes.size())) == 1,
      "EVP_EncryptUpdate");
}

MacTag MessageMac::end() {
  MacTag tag;
  int length = 0;
  auto* const letters_of_tag = reinterpret_cast<unsigned char*>(tag.data());
  EVP_CIPHER_CTX* const context = cipher(context_.get());
  check_crypto(EVP_EncryptFinal_ex(context, letters_of_tag, &length) == 1, "EVP_EncryptFinal_ex");
  check_crypto(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data()) == 1,
               "EVP_CIPHER_CTX_ctrl");
  return tag;
}

}  // namespace eave
