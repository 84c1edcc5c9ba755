// Where the files of a dataset are looked for.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// --data-dir, the one option of all datasets that read files.
OptionSpec data_dir_option();

struct DataPlaces {
  std::vector<std::filesystem::path> usual;  // looked through when --data-dir is not given
  std::string folder;                        // the files may stand in this folder of a place, too
  std::string what;                          // "mnist (train-images-idx3-ubyte[.gz] and its three companions)"
  std::string how_to_get;                    // ends the message when nothing is found
};

// The first directory that `holds` accepts; Error(kInputMissing) with the places looked at when none is.
std::filesystem::path find_data(const DataPlaces& places, const OptionValues& values,
                                const std::function<bool(const std::filesystem::path&)>& holds);

}  // namespace eave
