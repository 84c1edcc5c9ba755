// The places that eave writes to. A person names a directory, and eave follows its links. Below it eave chooses the
// names, and follows no symbolic link among them. All files that eave writes are opened here, by handles of
// directories. So nobody can exchange a name's file between a check and an open.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

namespace eave {

// Makes a call of the operating system, again if a signal interrupted it. After a thousand times in a row, the cause is
// not a signal but a file system that does not work.
template <class Call>
auto uninterrupted(Call call) {
  constexpr int kMostInterruptions = 1000;
  auto result = call();
  for (int i = 0; result < 0 && errno == EINTR && i < kMostInterruptions; ++i) result = call();
  return result;
}

class OutputPath;

class OutputFolder {
 public:
  // A directory that a person named; "" is the current one.
  OutputFolder(std::filesystem::path named);  // NOLINT(google-explicit-constructor)
  OutputFolder(const std::string& named) : OutputFolder(std::filesystem::path(named)) {}  // NOLINT
  OutputFolder(const char* named) : OutputFolder(std::filesystem::path(named)) {}         // NOLINT

  // A directory inside this one, by names that eave chose.
  OutputFolder below(const std::filesystem::path& chosen) const;
  OutputPath operator/(const std::string& name) const;
  // This directory as an entry of the directory above it.
  OutputPath entry() const;

  const std::filesystem::path& named() const { return named_; }
  const std::filesystem::path& chosen() const { return chosen_; }
  std::filesystem::path path() const { return chosen_.empty() ? named_ : named_ / chosen_; }

 private:
  std::filesystem::path named_, chosen_;
};

// A name that eave chose, in a directory. A bare path means its last name, in the directory before it.
class OutputPath {
 public:
  // A file that a person named. It may be a link, which is followed, a pipe, a device or /dev/stdout.
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
  // The same path with `suffix` appended to its name.
  OutputPath with(const std::string& suffix) const { return {folder_, name_ + suffix}; }

 private:
  OutputFolder folder_;
  std::string name_;
  bool is_of_person_ = false;
};

// A file descriptor that the destructor closes.
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

// Like the system calls: -1 and errno if they fail. `flags` are those of open(2); O_NOFOLLOW and O_CLOEXEC are added.
Descriptor open_folder(const OutputFolder& folder, int flags);
Descriptor open_output(const OutputPath& path, int flags, unsigned mode = 0644);
// Opens a path that a person named; it may be a link, a pipe or a device.
Descriptor open_named(const std::filesystem::path& path, int flags);
int make_folder(const OutputPath& path);
int rename_output(const OutputPath& from, const OutputPath& to);
int remove_output(const OutputPath& path);  // removes a name (of a link, not of its target) or an empty directory

// Opens a file that eave appends to or rewrites, and creates it if it is missing. An existing file must be a plain file
// without a second name (hard link), or a character device if `takes_devices`. Otherwise errno is EEXIST. Does not
// block.
Descriptor open_own(const OutputPath& path, int flags, bool takes_devices = false);

// The names in a directory; none if it cannot be read. Sets `error` to errno, or 0.
std::vector<std::string> names_in(const OutputFolder& folder, int& error);
bool is_link(const OutputPath& path);
bool is_there(const OutputPath& path);         // true for a link without a target, too
bool is_at(const OutputPath& path, int file);  // whether `path` names this open file
bool is_same_file(int one, int other);         // whether two open descriptors are of one file or directory

}  // namespace eave
