// The options of --data image-folder.
#pragma once

#include <filesystem>
#include <vector>

#include "eave/options.h"

namespace eave {

std::vector<OptionSpec> image_folder_options();

// --data-dir. Throws Error(kInputMissing) where it is not given.
std::filesystem::path image_place(const OptionValues& values);
// --image-size.
int image_side(const OptionValues& values);
// --decode-threads, or as many as this process may use cores, at most 8.
int image_threads(const OptionValues& values);

}  // namespace eave
