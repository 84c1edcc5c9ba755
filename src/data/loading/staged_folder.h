// The folder in which --stage-to keeps copies. It never follows a symbolic link that somebody has planted there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/files/output_path.h"
#include "eave/check.h"

namespace eave {

// The message says which file or folder failed, and why.
class StagedFolderError : public Error {
 public:
  using Error::Error;
};

// All methods throw StagedFolderError if the system fails. A name may contain folders.
class StagedFolder {
 public:
  // Makes the folder in `place` if it is missing. Also throws if it is a link, not a directory, or another user's.
  StagedFolder(const std::filesystem::path& place, const std::string& name);
  std::filesystem::path path() const { return folder_.path(); }

  // Opens a file for reading. The Descriptor is closed if the file is missing, not a plain file, or has a second name.
  Descriptor open(const std::string& name) const;
  // Creates an empty file for writing, and its folders. It replaces whatever has this name.
  Descriptor create(const std::string& name);
  void move(const std::string& from, const std::string& to);
  void remove(const std::string& name);

 private:
  OutputPath at(const std::string& name) const;
  OutputFolder folder_;
};

// Writes all bytes to `file`. Throws StagedFolderError, with `path`, if it cannot.
void write_all(const Descriptor& file, std::string_view bytes, const std::filesystem::path& path);

}  // namespace eave
