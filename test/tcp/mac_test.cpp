// Codes of messages over tcp: GMAC, whoever computes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "transport/tcp/tcp_mac.h"

namespace eave {
namespace {

MacKey key_of_test() {
  MacKey key;
  for (std::size_t at = 0; at < key.size(); ++at) key[at] = static_cast<std::byte>(17 * at + 3);
  return key;
}

std::vector<std::byte> bytes_to_sign(std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t at = 0; at < length; ++at) bytes[at] = static_cast<std::byte>((at * 2654435761U + length) >> 7);
  return bytes;
}

MacTag tag_of(MessageMac& mac, std::span<const std::byte> bytes, std::size_t piece) {
  mac.begin();
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    mac.add(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  return mac.end();
}

TEST(MessageMac, gives_openssls_codes_for_every_length_and_piece) {
  if (!Ghash::is_supported()) GTEST_SKIP() << "this processor has no carry-less multiplication of 256 bits";
  MessageMac ours(key_of_test(), true), openssls(key_of_test(), false);
  std::vector<std::size_t> lengths = {4096, 61440 + 16, 65537, 1 << 20};
  for (std::size_t length = 0; length < 600; ++length) lengths.push_back(length);
  for (const std::size_t length : lengths) {
    const std::vector<std::byte> bytes = bytes_to_sign(length);
    for (const std::size_t piece : {std::size_t{1} << 20, std::size_t{7}, std::size_t{16}, std::size_t{271}})
      ASSERT_EQ(tag_of(ours, bytes, piece), tag_of(openssls, bytes, std::size_t{1} << 20))
          << length << " bytes in pieces of " << piece;
  }
}

TEST(MessageMac, differs_with_each_bit_and_with_the_number_of_the_message) {
  for (const bool uses_ghash : {false, Ghash::is_supported()}) {
    std::vector<std::byte> bytes = bytes_to_sign(300);
    const MacTag right = [&] {
      MessageMac mac(key_of_test(), uses_ghash);
      return tag_of(mac, bytes, 300);
    }();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      MessageMac mac(key_of_test(), uses_ghash);
      EXPECT_NE(tag_of(mac, bytes, 300), right) << "bit " << bit;
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
    MessageMac mac(key_of_test(), uses_ghash);
    EXPECT_EQ(tag_of(mac, bytes, 300), right);
    EXPECT_NE(tag_of(mac, bytes, 300), right) << "the second message has the code of the first";
  }
}

}  // namespace
}  // namespace eave
