// Writes small texts for tests, and reads the windows of a dataset of tokens.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eave/dataset.h"

namespace eave {

// Makes the folders above the file, too.
void write_text(const std::filesystem::path& path, const std::string& text);

// 40 documents of 100 lines or fewer, in folders a and b.
void write_text_folder(const std::filesystem::path& folder);

// A document of `lines` lines, which no other number gives.
std::string document_of(int number, int lines);

// The context() + 1 entries of a window.
std::vector<std::int32_t> tokens_of(const Dataset& dataset, std::int64_t index);

// All tokens of a set, each once.
std::vector<std::int32_t> text_of(const Dataset& dataset);

}  // namespace eave
