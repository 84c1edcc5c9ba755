// Where the files of a dataset are looked for.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// --data-dir and --stage-to: those of all datasets that read files.
std::vector<OptionSpec> data_file_options();

struct DataPlaces {
  std::vector<std::filesystem::path> usual;  // looked through when --data-dir is not given
  std::string folder;                        // the files may stand in this folder of a place, too
  std::string what;                          // "mnist (train-images-idx3-ubyte[.gz] and its three companions)"
  std::string how_to_get;                    // ends the message when nothing is found
};

// "no directory set.zip (it is a ZIP archive: unpack it with unzip)".
std::string describe_no_directory(const std::filesystem::path& place);

// The names of the files of a set that stand in a directory; none: they are not there.
using FilesIn = std::function<std::vector<std::string>(const std::filesystem::path&)>;

// The first directory with files, or with --stage-to that of their copies; Error(kInputMissing) with the places looked
// at when there is none.
std::filesystem::path find_data(const DataPlaces& places, const OptionValues& values, const FilesIn& files_in);

}  // namespace eave
