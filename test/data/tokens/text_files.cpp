#include "test/data/tokens/text_files.h"

#include <fstream>

#include "eave/check.h"

namespace eave {

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  EAVE_CHECK(file.good(), "cannot write " + path.string());
}

void write_text_folder(const std::filesystem::path& folder) {
  for (int i = 0; i < 40; ++i)
    write_text(folder / (i % 2 == 0 ? "a" : "b") / (std::to_string(i) + ".txt"), document_of(i, 61 + i));
}

std::string document_of(int number, int lines) {
  std::string text;
  for (int line = 0; line < lines; ++line)
    text += "line " + std::to_string(line) + " of document " + std::to_string(number) + "\n";
  return text;
}

std::vector<std::int32_t> tokens_of(const Dataset& dataset, std::int64_t index) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(dataset.tokens()->context()) + 1, -7);
  dataset.tokens()->read_tokens(index, tokens);
  return tokens;
}

std::vector<std::int32_t> text_of(const Dataset& dataset) {
  std::vector<std::int32_t> text = {tokens_of(dataset, 0).front()};
  for (std::int64_t index = 0; index < dataset.size(); ++index) {
    const std::vector<std::int32_t> window = tokens_of(dataset, index);
    for (std::size_t k = 1; k < window.size() && window[k] != kNoLabel; ++k) text.push_back(window[k]);
  }
  return text;
}

}  // namespace eave
