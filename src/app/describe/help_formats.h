// Writes the commands and their options in the formats that `eave help` prints: manual page, Markdown and shell
// completions. All come from the tables that read the options.
#pragma once

#include <string>
#include <vector>

#include "app/main/commands.h"

namespace eave {

std::string manual_page();      // the page eave(1) for man
std::string bash_completion();  // for the shell to source
std::string zsh_completion();   // the file _eave in $fpath
std::string fish_completion();  // eave.fish in a directory of completions
std::string options_page();     // Markdown: src/app/OPTIONS.md, which a test compares with it

struct ShellOption {
  std::string name;  // without dashes
  std::string help;
  enum class Value { kNone, kPath, kWords, kFree } value;
  std::vector<std::string> words;  // for kWords: words that the option takes, or the usual ones
  bool may_stand_alone = false;    // the value may be left out
  bool may_be_path = false;        // with kWords: the value may also be a path
};

// All options of a command, --help, and the options of the command in `also_takes`, without duplicates.
std::vector<ShellOption> shell_options(const NamedCommand& command);

std::string join_words(const std::vector<std::string>& words, const std::string& separator = " ");

// Puts `escape` in front of each of `characters`.
std::string escape_characters(const std::string& text, const std::string& characters, const std::string& escape);

}  // namespace eave
