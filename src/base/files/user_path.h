// Expands paths as people type them.
#pragma once

#include <string>

#include "base/options/quantities.h"

namespace eave {

// Replaces a leading ~ or ~user by that home directory, as a shell does. A shell leaves --run-dir=~/x alone, and
// nothing else expands a path in a file or in the environment.
//
// Returns no value for an unknown user, a missing home directory, a shell's ~+ and ~-, and a variable that nobody
// expanded ($HOME/x). ./~ and ./$HOME mean files with these names.
Reading<std::string> read_path(const std::string& text);

// The same for a word of the command line that is not an option. Throws Error(kUsage), in which `what` names the word.
std::string path_of_word(const std::string& text, const std::string& what);

}  // namespace eave
