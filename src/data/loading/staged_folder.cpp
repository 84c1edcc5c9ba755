#include "data/loading/staged_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace eave {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_error(const std::string& what, const fs::path& path, int reason) {
  throw StagedFolderError(ExitCode::kCannotCreate,
                          path.string() + " " + what + (reason == 0 ? "" : std::string(": ") + std::strerror(reason)));
}

// Refuses a folder that is a link or belongs to another user.
void check_folder(const OutputFolder& folder) {
  const Descriptor opened = open_folder(folder, O_RDONLY);
  struct stat status {};
  if (!opened.is_open() || ::fstat(opened.number(), &status) != 0) {
    const int reason = errno;
    if (reason == ELOOP || reason == ENOTDIR) throw_error("is a link, or no directory", folder.path(), 0);
    throw_error("cannot be opened", folder.path(), reason);
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    throw_error("belongs to another user, who could have put anything there", folder.path(), 0);
}

}  // namespace

StagedFolder::StagedFolder(const fs::path& place, const std::string& name) : folder_(OutputFolder(place).below(name)) {
  make_folder(folder_.entry());
  check_folder(folder_);
}

OutputPath StagedFolder::at(const std::string& name) const {
  const fs::path path(name);
  return folder_.below(path.parent_path()) / path.filename().string();
}

Descriptor StagedFolder::open(const std::string& name) const {
  Descriptor file = open_output(at(name), O_RDONLY | O_NONBLOCK);
  struct stat status {};
  const bool is_plain =
      file.is_open() && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
  return is_plain ? std::move(file) : Descriptor();
}

Descriptor StagedFolder::create(const std::string& name) {
  fs::path folder;
  for (const fs::path& part : fs::path(name).parent_path()) make_folder(folder_.below(folder /= part).entry());
  remove(name);
  Descriptor file = open_output(at(name), O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) throw_error("cannot be created", path() / name, errno);
  return file;
}

void StagedFolder::move(const std::string& from, const std::string& to) {
  if (rename_output(at(from), at(to)) != 0) throw_error("cannot be renamed to " + to, path() / from, errno);
}

void StagedFolder::remove(const std::string& name) { remove_output(at(name)); }

void write_all(const Descriptor& file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted([&] { return ::write(file.number(), bytes.data(), bytes.size()); });
    if (count <= 0) throw_error("cannot be written", path, count == 0 ? ENOSPC : errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace eave
