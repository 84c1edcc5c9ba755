// Checks the output paths that a person gave, against existing files and against each other.
#pragma once

#include <initializer_list>

#include "eave/options.h"

namespace eave {

// Throws Error(kUsage) if two of these options name the same file, or if one names a file of a run, which would be
// overwritten.
void check_output_options(const OptionValues& values, std::initializer_list<const char*> options);

// Throws Error(kUsage) if --run-dir is where image-folder looks for class folders: later runs would take it for a
// class.
void refuse_run_among_images(const OptionValues& values);

}  // namespace eave
