// Paths as people give them.
#pragma once

#include <string>

#include "base/quantities.h"

namespace eave {

// The path with a leading ~ or ~user replaced by that home directory, as a shell does: a shell leaves it alone in
// --run-dir=~/x, and nothing else expands it in a file or in the environment. Without a value: an unknown user, no home
// directory, a shell's ~+ and ~-, or a variable that nobody expanded ($HOME/x). ./~ and ./$HOME name what is called so.
Reading<std::string> read_path(const std::string& text);

// That path, of a word of the command line that is no option. Throws Error(kUsage) that says `what` it is.
std::string path_of_word(const std::string& text, const std::string& what);

}  // namespace eave
