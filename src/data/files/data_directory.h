// Finds the directory that holds the files of a dataset, and says what else a directory holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// --data-dir and --stage-to: the options of all datasets that read files.
std::vector<OptionSpec> data_file_options();

struct DataDirectories {
  std::vector<std::filesystem::path> defaults;  // searched if --data-dir is not given
  // A directory may hold the files directly, or in this subfolder.
  std::string subfolder;
  std::string what;  // "mnist (train-images-idx3-ubyte[.gz] and its three companions)"
  // Ends the message if nothing is found.
  std::string how_to_get;
};

// Says that `path` is no directory: "no directory set.zip (it is a ZIP archive: unpack it with unzip)".
std::string describe_no_directory(const std::filesystem::path& path);

// Returns the names of a set's files in a directory; empty if they are not there.
using FilesIn = std::function<std::vector<std::string>(const std::filesystem::path&)>;

// Returns the first directory that has the files; with --stage-to, the directory of their copies. If there is none,
// throws Error(kInputMissing) with the directories that were searched.
std::filesystem::path find_data_directory(const DataDirectories& directories, const OptionValues& values,
                                          const FilesIn& files_in);

// Entries of a directory that are none of the set's.
struct PassedOver {
  std::int64_t count = 0;
  std::vector<std::string> first;  // up to kMostNamed, relative to the directory
  static constexpr std::size_t kMostNamed = 4;
};

// "2 entries that are no text (a.png, b.gz)" for the kind "text"; "" if nothing is passed over.
std::string describe_entries(const PassedOver& passed, const std::string& kind);

}  // namespace eave
