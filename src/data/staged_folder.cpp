#include "data/staged_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

[[noreturn]] void throw_error(const std::string& what, const fs::path& path, int reason) {
  throw fs::filesystem_error(what, path, std::error_code(reason, std::generic_category()));
}

OpenedFile open_folder_in(int parent, const std::string& name, bool makes_it) {
  if (makes_it && ::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) return OpenedFile();
  return OpenedFile(::openat(parent, name.c_str(), kFolder));
}

std::string last_name(const std::string& name) { return fs::path(name).filename().string(); }

}  // namespace

OpenedFile::OpenedFile(OpenedFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

OpenedFile& OpenedFile::operator=(OpenedFile&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

OpenedFile::~OpenedFile() {
  if (number_ >= 0) ::close(number_);
}

StagedFolder::StagedFolder(const fs::path& place, const std::string& name) : path_(place / name) {
  const OpenedFile parent(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) throw_error("cannot be opened", place, errno);
  folder_ = open_folder_in(parent.number(), name, true);
  if (!folder_) {
    const int reason = errno;
    throw_error(reason == ELOOP || reason == ENOTDIR ? "is a link, or no directory: remove it" : "cannot be opened",
                path_, reason);
  }
  struct stat status {};
  if (::fstat(folder_.number(), &status) != 0) throw_error("cannot be looked at", path_, errno);
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    throw_error("belongs to another user, who could have put anything there: remove it", path_, EPERM);
}

OpenedFile StagedFolder::folder_of(const std::string& name, bool makes_it) const {
  OpenedFile folder(::openat(folder_.number(), ".", kFolder));
  for (const fs::path& part : fs::path(name).parent_path()) {
    if (!folder) break;
    folder = open_folder_in(folder.number(), part.string(), makes_it);
  }
  return folder;
}

OpenedFile StagedFolder::open(const std::string& name) const {
  const OpenedFile folder = folder_of(name, false);
  if (!folder) return OpenedFile();
  OpenedFile file(::openat(folder.number(), last_name(name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  const bool is_plain = file && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
  return is_plain ? std::move(file) : OpenedFile();
}

OpenedFile StagedFolder::create(const std::string& name) {
  const OpenedFile folder = folder_of(name, true);
  if (!folder) fail("cannot be made, or is a link", fs::path(name).parent_path().string());
  const std::string last = last_name(name);
  ::unlinkat(folder.number(), last.c_str(), 0);
  OpenedFile file(::openat(folder.number(), last.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) fail("cannot be created", name);
  return file;
}

void StagedFolder::rename(const std::string& from, const std::string& to) {
  const OpenedFile folder = folder_of(from, false);
  if (!folder || ::renameat(folder.number(), last_name(from).c_str(), folder.number(), last_name(to).c_str()) != 0)
    fail("cannot be renamed to " + to, from);
}

void StagedFolder::remove(const std::string& name) noexcept {
  try {
    const OpenedFile folder = folder_of(name, false);
    if (folder) ::unlinkat(folder.number(), last_name(name).c_str(), 0);
  } catch (...) {
    // No memory for names: it stays, and the next copy replaces it.
  }
}

void StagedFolder::fail(const std::string& what, const std::string& name) const {
  throw_error(what, path_ / name, errno);
}

void write_all(const OpenedFile& file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw_error("cannot be written", path, count == 0 ? ENOSPC : errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace eave
