// Python with a package, where there is one: to read what the program writes as other programs do.
#pragma once

#include <string>

#include "test/program/program.h"

namespace eave {

// A Python that imports `package` ("torch", "numpy"), for Place::run; "" where none is found. Looks into the
// environment that bench/ has made for PyTorch, and at python3.
std::string python_with(const Place& place, const std::string& package);
std::string script(const std::string& name);  // the path of test/program/NAME

}  // namespace eave
