// Reads files of tokens: nanoGPT's, which are numbers of 16 bits and nothing else, and llm.c's, with a header before
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/files/byte_source.h"
#include "data/tokens/token_windows.h"

namespace eave {

// Numbers are little-endian, as both programs write them on the machines they run on.
struct TokenFormat {
  std::uint64_t begin = 0;  // offset of the first token
  int bytes_per_token = 2;
  std::int64_t tokens = 0;
  int vocabulary = 0;  // the size that the header implies; 0 if there is no header
};

// llm.c's header is 256 numbers of 32 bits: 20240520 and 1 for GPT-2's tokens, or 20240801 and 7 for Llama 3's, which
// have 32 bits; then the number of tokens. Throws Error(kBadData), which names the file, if it is empty or cut, if its
// size is no whole number of tokens, if its header is damaged, if it is another of llm.c's files or of another
// program, or if it has no header and looks like numbers of 32 or 64 bits below `vocabulary` (0: unknown).
TokenFormat read_token_format(const ByteSource& file, int vocabulary);

// Throws Error(kBadData), which names file and offset, if one of these tokens of a file is not below `vocabulary`.
void require_in_vocabulary(const ByteSource& file, const TokenFormat& format, std::int64_t first,
                           std::span<const std::int32_t> tokens, int vocabulary);

// Several files, one behind another. Reads from the files and keeps no tokens, so a set may be larger than memory.
class TokenFiles final : public TokenStream {
 public:
  struct File {
    std::unique_ptr<ByteSource> source;
    TokenFormat format;
  };
  TokenFiles(std::vector<File> files, int vocabulary);
  std::int64_t size() const override { return begins_.back(); }
  // Checks that the tokens are in the vocabulary. Throws Error: kBadData, kInputOutput.
  void read(std::int64_t first, std::span<std::int32_t> tokens) const override;

  // Reads at most about `most_bytes`: all tokens, or pieces of 1 MiB at even distances and the end of each file.
  // Returns a hash of what was read and of the files' sizes. Throws as `read` does.
  std::string check(std::uint64_t most_bytes) const;

 private:
  void read_file(const File& file, std::int64_t first, std::span<std::int32_t> tokens) const;

  std::vector<File> files_;
  std::vector<std::int64_t> begins_;  // the number of each file's first token; then that of all tokens
  int vocabulary_;
};

}  // namespace eave
