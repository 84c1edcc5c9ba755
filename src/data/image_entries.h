// What stands in a folder among which there are images.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

struct Entries {
  std::vector<std::string> folders, files;  // ordered; of files those that are named as images
  std::vector<std::string> others;          // of another format, ordered
  std::vector<std::string> broken_links;    // among the files: nothing is there, or the link cannot be followed
  std::vector<std::string> foreign;         // what is passed over, ordered
};

// Links count as what they point to, if they can be followed. Throws std::filesystem::filesystem_error.
Entries entries_of(const std::filesystem::path& folder);

}  // namespace eave
