// Texts as tokens, which are kept in a file.
#include "data/tokens/encoded_text.h"

#include <algorithm>

#include "test/data/tokens/vocabularies.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

class EncodedTexts : public Vocabularies {
 protected:
  void SetUp() override {
    write_gpt2(numbers_json(kMore), kMerges);
    for (int i = 0; i < 30; ++i) write_text(texts_.path() / std::to_string(i), "abc aab " + document_of(i, 20));
  }
  EncodedText encode_all(const fs::path& cache) const {
    const TextParts parts = part_text(list_text(texts_.path()), 0.2);
    const auto vocabulary = open_vocabulary(place().string());
    return encode_text(texts_.path(), parts, *vocabulary, cache);
  }
  static std::vector<std::int32_t> tokens_in(const EncodedText& text) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(text.stream->size()));
    text.stream->read(0, tokens);
    return tokens;
  }
  static std::vector<fs::path> files_in(const fs::path& folder) {
    return {fs::directory_iterator(folder), fs::directory_iterator()};
  }

  fs::path cache() const { return cache_.path() / "eave" / "tokens"; }

  TemporaryDirectory texts_, cache_;
};

TEST_F(EncodedTexts, are_kept_and_found_again_with_the_same_tokens) {
  const EncodedText in_memory = encode_all({});
  EXPECT_EQ(in_memory.note, "");
  const std::vector<std::int32_t> wanted = tokens_in(in_memory);
  EXPECT_EQ(std::ranges::count(wanted, 260), 30) << "a separator behind each file";
  for (int i = 0; i < 2; ++i) {
    const EncodedText kept = encode_all(cache());
    EXPECT_EQ(tokens_in(kept), wanted);
    EXPECT_EQ(kept.training, in_memory.training);
    EXPECT_NE(kept.note.find("tokens kept in "), std::string::npos);
    ASSERT_EQ(files_in(cache()).size(), 1u);
  }
}

TEST_F(EncodedTexts, that_are_damaged_in_the_cache_are_encoded_again) {
  const std::vector<std::int32_t> wanted = tokens_in(encode_all(cache()));
  const fs::path file = files_in(cache()).at(0);
  const auto size = fs::file_size(file);
  for (const std::uintmax_t cut : {std::uintmax_t{0}, std::uintmax_t{20}, size - 2}) {
    fs::resize_file(file, cut);
    EXPECT_EQ(tokens_in(encode_all(cache())), wanted) << "cut to " << cut;
    EXPECT_EQ(fs::file_size(file), size);
  }
  std::string bytes(size, '\0');
  write_text(file, bytes);
  EXPECT_EQ(tokens_in(encode_all(cache())), wanted);
}

TEST_F(EncodedTexts, stay_in_memory_if_the_cache_cannot_be_written) {
  write_text(cache_.path() / "file", "no folder");
  const EncodedText text = encode_all(cache_.path() / "file" / "tokens");
  EXPECT_EQ(text.note, "");
  EXPECT_EQ(tokens_in(text), tokens_in(encode_all({})));
}

}  // namespace
}  // namespace eave
