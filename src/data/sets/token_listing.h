// Finds the files of tokens in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

// Ends the messages if there are none.
inline constexpr const char* kHowToNameTokens =
    "; name the folder of nanoGPT's or llm.c's .bin files (train.bin, val.bin), or one of them, with --data-dir";

// All lists are sorted.
struct TokenNames {
  std::filesystem::path folder = {};
  std::vector<std::string> train = {},
                           test = {};    // .bin files; tests are those with the word val or test in their name
  std::vector<std::string> others = {};  // entries of the folder that are no .bin files
};

// `place` is a folder, or one file. Throws Error(kInputMissing) if it has no file to train on, and Error(kBadData) if a
// packed file, or one of numpy.save, is beside the .bin files and its tokens are in none of them.
TokenNames list_tokens(const std::filesystem::path& place);

// "; passed over: 2 entries that are no .bin files (meta.pkl, prepare.py)", or "".
std::string describe_others(const TokenNames& names);

}  // namespace eave
