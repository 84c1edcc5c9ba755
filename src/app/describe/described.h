// Writes the commands and their options in the formats that `eave help` prints. All come from the tables that read the
// options.
#pragma once

#include <string>

namespace eave {

std::string manual_page();      // the page eave(1) for man
std::string bash_completion();  // for the shell to source
std::string zsh_completion();   // the file _eave in $fpath
std::string fish_completion();  // eave.fish in a directory of completions
std::string options_page();     // Markdown: OPTIONS.md in this folder, which a test compares with it

}  // namespace eave
