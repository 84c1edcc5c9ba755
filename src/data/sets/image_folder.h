// Reads the options of --data image-folder.
#pragma once

#include <filesystem>

#include "eave/options.h"

namespace eave {

// The value of --data-dir. Throws Error(kInputMissing) if it is not given.
std::filesystem::path image_directory(const OptionValues& values);
// The value of --image-size, in pixels.
int image_side(const OptionValues& values);
// The value of --decode-threads. By default, as many as this process may use cores, at most 8.
int image_threads(const OptionValues& values);

}  // namespace eave
