// A file of tokens of nanoGPT or llm.c. All of its tokens are read, with a vocabulary that the first byte chooses.
#include "data/tokens/token_file.h"

#include <algorithm>

#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  const int vocabulary = bytes[0] < 128 ? 50257 : 1 << 24;
  const std::vector<std::uint8_t> content(bytes.begin() + 1, bytes.end());
  take_or_refuse([&] {
    auto file = std::make_unique<MemorySource>(content, "fuzzed");
    const TokenFormat format = read_token_format(*file, vocabulary);
    std::vector<TokenFiles::File> files;
    files.push_back({std::move(file), format});
    const TokenFiles stream(std::move(files), vocabulary);
    if (stream.size() < 1 || stream.size() > static_cast<std::int64_t>(content.size() / 2)) std::abort();
    static_cast<void>(stream.check(1 << 20));
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(stream.size()));
    stream.read(0, tokens);
    if (std::ranges::any_of(tokens, [&](int token) { return token < 0 || token >= vocabulary; })) std::abort();
  });
}
