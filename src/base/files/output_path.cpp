#include "base/files/output_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace eave {
namespace {

namespace fs = std::filesystem;

// For directories on the way, the right to search them is enough.
constexpr int kWay = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Returns the directory that contains the last name of `folder`, and that name.
std::pair<Descriptor, fs::path> way_to(const OutputFolder& folder) {
  if (folder.chosen().empty()) return {Descriptor(AT_FDCWD), folder.named()};
  Descriptor place(uninterrupted([&] { return ::open(folder.named().c_str(), kWay); }));
  fs::path last;
  for (const fs::path& name : folder.chosen()) {
    if (!last.empty() && place.is_open()) {
      place = Descriptor(uninterrupted([&] { return ::openat(place.number(), last.c_str(), kWay | O_NOFOLLOW); }));
    }
    last = name;
  }
  return {std::move(place), last};
}

Descriptor folder_of(const OutputPath& path) { return open_folder(path.folder(), O_PATH); }

bool is_own(int file, bool takes_devices) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return false;
  return (S_ISREG(status.st_mode) && status.st_nlink <= 1) || (takes_devices && S_ISCHR(status.st_mode));
}

bool look_at(const OutputPath& path, struct stat& status) {
  const Descriptor place = folder_of(path);
  return place.is_open() && ::fstatat(place.number(), path.name().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

}  // namespace

OutputFolder::OutputFolder(fs::path named) : named_(std::move(named)) {
  while (!named_.has_filename() && named_.has_relative_path()) named_ = named_.parent_path();
  if (named_.empty()) named_ = ".";
}

OutputFolder OutputFolder::below(const fs::path& chosen) const {
  OutputFolder inside = *this;
  if (!chosen.empty()) inside.chosen_ /= chosen;
  return inside;
}

OutputPath OutputFolder::operator/(const std::string& name) const { return {*this, name}; }

OutputPath OutputFolder::entry() const {
  if (chosen_.empty()) return named_;
  OutputFolder above = *this;
  above.chosen_ = chosen_.parent_path();
  return {above, chosen_.filename().string()};
}

OutputPath::OutputPath(const fs::path& path) : folder_(path.parent_path()), name_(path.filename().string()) {}

OutputPath OutputPath::of_person(const fs::path& path) {
  OutputPath named(path);
  named.is_of_person_ = true;
  return named;
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  const int reason = errno;
  if (number_ >= 0) ::close(number_);
  errno = reason;
}

int Descriptor::release() { return std::exchange(number_, -1); }

Descriptor open_folder(const OutputFolder& folder, int flags) {
  const auto [place, name] = way_to(folder);
  const bool is_named = folder.chosen().empty();
  if (!is_named && !place.is_open()) return Descriptor();
  const int all = flags | O_DIRECTORY | O_CLOEXEC | (is_named ? 0 : O_NOFOLLOW);
  const int from = place.number();
  const fs::path& last = name;
  return Descriptor(uninterrupted([&] { return ::openat(from, last.c_str(), all); }));
}

Descriptor open_output(const OutputPath& path, int flags, unsigned mode) {
  const Descriptor place = folder_of(path);
  if (!place.is_open()) return Descriptor();
  // Do not retry: with O_EXCL, an interrupted call may have created the file, and the next would find it there.
  return Descriptor(::openat(place.number(), path.name().c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

Descriptor open_named(const fs::path& path, int flags) {
  return Descriptor(uninterrupted([&] { return ::open(path.c_str(), flags | O_NOCTTY | O_CLOEXEC); }));
}

int make_folder(const OutputPath& path) {
  const Descriptor place = folder_of(path);
  return place.is_open() ? ::mkdirat(place.number(), path.name().c_str(), 0755) : -1;
}

int rename_output(const OutputPath& from, const OutputPath& to) {
  const Descriptor before = folder_of(from), after = before.is_open() ? folder_of(to) : Descriptor();
  if (!after.is_open()) return -1;
  return ::renameat(before.number(), from.name().c_str(), after.number(), to.name().c_str());
}

int remove_output(const OutputPath& path) {
  const Descriptor place = folder_of(path);
  if (!place.is_open()) return -1;
  if (::unlinkat(place.number(), path.name().c_str(), 0) == 0) return 0;
  const int reason = errno;
  if (reason != EISDIR && reason != EPERM) return -1;
  if (::unlinkat(place.number(), path.name().c_str(), AT_REMOVEDIR) == 0) return 0;
  if (errno == ENOTDIR) errno = reason;
  return -1;
}

Descriptor open_own(const OutputPath& path, int flags, bool takes_devices) {
  Descriptor file = open_output(path, flags | O_CREAT | O_NONBLOCK | O_NOCTTY);
  if (file.is_open() && !is_own(file.number(), takes_devices)) {
    file = Descriptor();
    errno = EEXIST;
  }
  if (!file.is_open() && errno == ENXIO) errno = EEXIST;  // a pipe that nobody reads, or a socket
  return file;
}

std::vector<std::string> names_in(const OutputFolder& folder, int& error) {
  std::vector<std::string> names;
  Descriptor place = open_folder(folder, O_RDONLY);
  DIR* const directory = place.is_open() ? ::fdopendir(place.number()) : nullptr;
  error = directory == nullptr ? errno : 0;
  if (directory == nullptr) return names;
  place.release();
  errno = 0;
  while (const dirent* const entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  error = errno;
  ::closedir(directory);
  return names;
}

bool is_link(const OutputPath& path) {
  struct stat status {};
  return look_at(path, status) && S_ISLNK(status.st_mode);
}

bool is_at(const OutputPath& path, int file) {
  struct stat opened {
  }, named{};
  return ::fstat(file, &opened) == 0 && look_at(path, named) && is_same(opened, named);
}

bool is_same_file(int one, int other) {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && is_same(first, second);
}

bool is_there(const OutputPath& path) {
  struct stat status {};
  return look_at(path, status);
}

}  // namespace eave
