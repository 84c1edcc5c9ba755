// Where eave writes. A person names a directory, whose links are followed; below it eave chooses names, and follows no
// symbolic link among these. All files that eave writes are opened here, by handles of directories: what stands under a
// name cannot be exchanged between a look and an open.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

class OutputPath;

class OutputFolder {
 public:
  // A directory that a person named; "": the current one.
  OutputFolder(std::filesystem::path named);  // NOLINT(google-explicit-constructor)
  OutputFolder(const std::string& named) : OutputFolder(std::filesystem::path(named)) {}  // NOLINT
  OutputFolder(const char* named) : OutputFolder(std::filesystem::path(named)) {}         // NOLINT

  // A directory inside, by names that eave chose.
  OutputFolder below(const std::filesystem::path& chosen) const;
  OutputPath operator/(const std::string& name) const;
  // The directory itself as an entry of the one above.
  OutputPath entry() const;

  const std::filesystem::path& named() const { return named_; }
  const std::filesystem::path& chosen() const { return chosen_; }
  std::filesystem::path path() const { return chosen_.empty() ? named_ : named_ / chosen_; }

 private:
  std::filesystem::path named_, chosen_;
};

// A name that eave chose, in a directory. A bare path stands for its last name in the directory before it.
class OutputPath {
 public:
  // A file that a person named: it may be a link, which is followed, a pipe, a device or /dev/stdout.
  static OutputPath of_person(const std::filesystem::path& path);
  OutputPath(OutputFolder folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}
  OutputPath(const std::filesystem::path& path);  // NOLINT(google-explicit-constructor)
  OutputPath(const std::string& path)
      : OutputPath(std::filesystem::path(path)) {}                           // NOLINT(google-explicit-constructor)
  OutputPath(const char* path) : OutputPath(std::filesystem::path(path)) {}  // NOLINT(google-explicit-constructor)

  const OutputFolder& folder() const { return folder_; }
  const std::string& name() const { return name_; }
  std::filesystem::path path() const { return folder_.path() / name_; }
  std::string string() const { return path().string(); }
  bool is_of_person() const { return is_of_person_; }
  // The same with more behind its name.
  OutputPath with(const std::string& suffix) const { return {folder_, name_ + suffix}; }

 private:
  OutputFolder folder_;
  std::string name_;
  bool is_of_person_ = false;
};

// A descriptor that is closed at its end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release();

 private:
  int number_;
};

// As the system's calls: -1 and errno where they fail. `flags` of open(2); O_NOFOLLOW and O_CLOEXEC are added.
Descriptor open_folder(const OutputFolder& folder, int flags);
Descriptor open_output(const OutputPath& path, int flags, unsigned mode = 0644);
// What a person named, which may be a link, a pipe or a device.
Descriptor open_named(const std::filesystem::path& path, int flags);
int make_folder(const OutputPath& path);
int rename_output(const OutputPath& from, const OutputPath& to);
int remove_output(const OutputPath& path);  // a name: of a link, not of its target; or an empty directory

// Opens a file that eave adds to or writes again, which is made if it is not there. A file that is there already must
// be a plain file without a second name (hard link), or a character device if `takes_devices`; otherwise errno is
// EEXIST. Does not block.
Descriptor open_own(const OutputPath& path, int flags, bool takes_devices = false);

// Names in a directory, none where it cannot be read; `error`: errno, or 0.
std::vector<std::string> names_in(const OutputFolder& folder, int& error);
bool is_link(const OutputPath& path);
bool is_there(const OutputPath& path);         // also a link without a target
bool is_at(const OutputPath& path, int file);  // whether the name is that of an open file

}  // namespace eave
