// A folder for the files of vocabularies, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokens/utf8_character.h"
#include "data/tokens/vocabulary.h"
#include "data/tokens/vocabulary_files.h"
#include "test/data/data_files.h"
#include "test/data/tokens/text_files.h"

namespace eave {

using Words = std::vector<std::string>;

// A vocabulary of the 256 bytes, which have their own numbers, and these merges.
class Vocabularies : public testing::Test {
 protected:
  const std::filesystem::path& place() const { return directory_.path(); }
  static std::string numbers_json(const Words& more) {
    std::string json = "{";
    for (int byte = 0; byte < 256; ++byte) {
      const std::string letter = letter_of_byte(static_cast<std::uint8_t>(byte));
      json += (byte == 0 ? "\"" : ", \"") + std::string(letter == "\"" || letter == "\\" ? "\\" : "") + letter +
              "\": " + std::to_string(byte);
    }
    for (std::size_t i = 0; i < more.size(); ++i) json += ", \"" + more[i] + "\": " + std::to_string(256 + i);
    return json + "}";
  }
  void write_gpt2(const std::string& numbers, const std::string& merges) const {
    write_text(place() / "encoder.json", numbers);
    write_text(place() / "vocab.bpe", merges);
  }
  static std::string tokenizer_json(const std::string& model, const std::string& cut, const std::string& rest = "") {
    return R"({"version": "1.0", "normalizer": null, "added_tokens": [{"id": 260, "content": "<|endoftext|>"}], )" +
           rest + "\"pre_tokenizer\": " + cut + ", \"model\": " + model + "}";
  }
  Refusal refused(const std::string& name = "") const {
    return refusal_of([&] { open_vocabulary((place() / name).string()); });
  }
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> tokens;
    open_vocabulary(place().string())->encode(bytes_in(text), tokens);
    return tokens;
  }

 private:
  TemporaryDirectory directory_;
};

inline const Words kMore = {"ab", "abc", "bc", "aa", "<|endoftext|>"};
inline constexpr const char* kMerges = "#version: 0.2\na b\nb c\nab c\na a\n";
inline constexpr const char* kByteLevel = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})";

}  // namespace eave
