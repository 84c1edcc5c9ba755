#include "test/data/tokens/token_files.h"

namespace eave {

Bytes token_bytes(const std::vector<std::int32_t>& tokens, int bytes_per_token) {
  Bytes bytes;
  for (const std::int32_t token : tokens) {
    for (int i = 0; i < bytes_per_token; ++i) bytes.push_back(static_cast<std::uint8_t>(token >> (8 * i)));
  }
  return bytes;
}

Bytes llmc_header(std::uint32_t magic, std::uint32_t version, std::uint32_t tokens) {
  std::vector<std::int32_t> numbers(256);
  numbers[0] = static_cast<std::int32_t>(magic);
  numbers[1] = static_cast<std::int32_t>(version);
  numbers[2] = static_cast<std::int32_t>(tokens);
  return token_bytes(numbers, 4);
}

std::vector<std::int32_t> some_tokens(int count, int first, int vocabulary) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = first; i < first + count; ++i)
    tokens.push_back(static_cast<std::int32_t>((i * 7919 + i * i % 101) % vocabulary));
  return tokens;
}

void write_token_folder(const std::filesystem::path& folder) {
  write_bytes(folder / "train.bin", llmc_header(20240520, 1, 3000) + token_bytes(some_tokens(3000)));
  write_bytes(folder / "val.bin", llmc_header(20240520, 1, 700) + token_bytes(some_tokens(700, 3000)));
}

}  // namespace eave
