#include "data/images/image_entries.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <system_error>

namespace eave {
namespace {

namespace fs = std::filesystem;

bool ends_as(const std::string& name, std::initializer_list<const char*> endings) {
  std::string ending = fs::path(name).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return std::ranges::find(endings, ending) != endings.end();
}

bool is_image_name(const std::string& name) { return ends_as(name, {".jpg", ".jpeg", ".jpe", ".jfif", ".png"}); }

// Whether the name is that of an image that eave cannot decode. Its owner probably wants to train on it too.
bool is_name_of_other_format(const std::string& name) {
  return ends_as(name, {".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".jp2",
                        ".jxl",  ".svg", ".ppm", ".pgm", ".pbm",  ".pnm",  ".psd",  ".xcf",  ".tga",
                        ".exr",  ".dcm", ".cr2", ".cr3", ".nef",  ".arw",  ".dng",  ".orf",  ".rw2"});
}

void add_entry(Entries& entries, const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code error;
  const fs::file_status status = entry.status(error);
  const bool is_broken = error && entry.is_symlink();
  if (error && !is_broken) throw fs::filesystem_error("cannot look at", entry.path(), error);
  if (name.starts_with('.')) {
    entries.foreign.push_back(name);
  } else if (fs::is_directory(status)) {
    entries.folders.push_back(name);
  } else if (is_image_name(name)) {
    entries.files.push_back(name);
    if (is_broken) entries.broken_links.push_back(name);
  } else {
    (is_name_of_other_format(name) ? entries.others : entries.foreign).push_back(name);
  }
}

}  // namespace

Entries entries_of(const fs::path& folder) {
  Entries entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) add_entry(entries, entry);
  for (auto* names : {&entries.folders, &entries.files, &entries.others, &entries.broken_links, &entries.foreign})
    std::ranges::sort(*names);
  return entries;
}

}  // namespace eave
