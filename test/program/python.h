// Finds a Python that has a package, so that tests can read eave's files as other programs do.
#pragma once

#include <string>

#include "test/program/program.h"

namespace eave {

// Returns the command of a Python that can import `package` ("torch", "numpy"), for Place::run, or "" if there is none.
// It tries the environment that bench/ has made for PyTorch, then python3.
std::string python_with(const Place& place, const std::string& package);
std::string script(const std::string& name);  // Returns the path of test/program/NAME.

}  // namespace eave
