// The folder of copies that --stage-to makes. A symbolic link that somebody has planted there is never followed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/output_path.h"
#include "eave/check.h"

namespace eave {

// Which file or folder, and why.
class StagedFolderError : public Error {
 public:
  using Error::Error;
};

// Its methods throw StagedFolderError where the system fails. Names may have folders in them.
class StagedFolder {
 public:
  // Makes it in `place` if it is not there. Throws also where it is a link, no directory, or another user's.
  StagedFolder(const std::filesystem::path& place, const std::string& name);
  std::filesystem::path path() const { return folder_.path(); }

  // Closed where it is not there, or no plain file of one name.
  Descriptor open(const std::string& name) const;
  // An empty file for writing, in the place of whatever has this name. Makes its folders.
  Descriptor create(const std::string& name);
  void move(const std::string& from, const std::string& to);
  void remove(const std::string& name);

 private:
  OutputPath at(const std::string& name) const;
  OutputFolder folder_;
};

// Throws StagedFolderError where not all can be written.
void write_all(const Descriptor& file, std::string_view bytes, const std::filesystem::path& path);

}  // namespace eave
