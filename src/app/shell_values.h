// What shells offer for the words of a command.
#pragma once

#include <string>
#include <vector>

#include "app/commands.h"

namespace eave {

struct ShellOption {
  std::string name;  // without dashes
  std::string help;
  enum class Value { kNone, kPath, kWords, kFree } value;
  std::vector<std::string> words;  // kWords: those that the option takes, or the usual ones
  bool may_stand_alone = false;    // its value may be left out
};

// All options of a command, --help, and those of the command that it also takes, each once.
std::vector<ShellOption> shell_options(const NamedCommand& command);

std::string join_words(const std::vector<std::string>& words, const std::string& separator = " ");

// Puts `escape` in front of each of `characters`.
std::string escape_characters(const std::string& text, const std::string& characters, const std::string& escape);

}  // namespace eave
