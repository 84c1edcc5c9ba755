// The folder of copies that --stage-to makes, reached by handles of directories: a symbolic link below it that somebody
// has planted is never followed.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace eave {

// A descriptor that is closed at its end.
class OpenedFile {
 public:
  explicit OpenedFile(int number = -1) : number_(number) {}
  OpenedFile(OpenedFile&& other) noexcept;
  OpenedFile& operator=(OpenedFile&& other) noexcept;
  ~OpenedFile();
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

// Its methods throw std::filesystem::filesystem_error where the system fails. Names may have folders in them.
class StagedFolder {
 public:
  // Makes it in `place` if it is not there. Throws also where it is a link, no directory, or another user's.
  StagedFolder(const std::filesystem::path& place, const std::string& name);
  std::filesystem::path path() const { return path_; }

  // Nothing where it is not there, or no plain file of one name.
  OpenedFile open(const std::string& name) const;
  // An empty file for writing, in the place of whatever has this name. Makes its folders.
  OpenedFile create(const std::string& name);
  void rename(const std::string& from, const std::string& to);
  void remove(const std::string& name) noexcept;

 private:
  // The folder in which a name stands.
  OpenedFile folder_of(const std::string& name, bool makes_it) const;
  [[noreturn]] void fail(const std::string& what, const std::string& name) const;
  std::filesystem::path path_;
  OpenedFile folder_;
};

// Throws std::filesystem::filesystem_error where not all can be written.
void write_all(const OpenedFile& file, std::string_view bytes, const std::filesystem::path& path);

}  // namespace eave
