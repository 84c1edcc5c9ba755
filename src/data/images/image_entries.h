// Lists a folder of images, sorted by kind of entry.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

struct Entries {
  std::vector<std::string> folders, files;  // sorted by name; `files` are those named as JPEG or PNG images
  std::vector<std::string> others;          // named as images of another format; sorted
  // Those of `files` that are links without a target, or links that cannot be followed.
  std::vector<std::string> broken_links;
  std::vector<std::string> foreign;  // all other entries, which are passed over; sorted
};

// A link counts as its target, if it can be followed. Throws std::filesystem::filesystem_error.
Entries entries_of(const std::filesystem::path& folder);

}  // namespace eave
