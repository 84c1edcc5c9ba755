// The commands and their options in the forms that `eave help` prints, made of the same tables that read them.
#pragma once

#include <string>

namespace eave {

std::string manual_page();      // for man: eave(1)
std::string bash_completion();  // to be sourced
std::string zsh_completion();   // the file _eave in $fpath
std::string fish_completion();  // eave.fish in a directory of completions
std::string options_page();     // Markdown: OPTIONS.md beside this, which a test holds to it

}  // namespace eave
