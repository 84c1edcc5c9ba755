// Places of outputs that a person names, held against what stands there and against each other.
#pragma once

#include <initializer_list>

#include "eave/options.h"

namespace eave {

// Throws Error(kUsage) if two of these options name one file, or one names a file of a run, which would be replaced.
void check_output_options(const OptionValues& values, std::initializer_list<const char*> options);

// Throws Error(kUsage) if --run-dir lies where image-folder looks for class folders: later runs would take it for one.
void refuse_run_among_images(const OptionValues& values);

}  // namespace eave
