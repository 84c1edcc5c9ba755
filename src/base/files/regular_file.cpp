#include "base/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse_kind(const fs::path& path, const std::string& kind) {
  throw Error(ExitCode::kBadData,
              path.string() + " is no regular file but " + kind + "; put the file itself in its place");
}

}  // namespace

std::string kind_instead_of_file(const fs::path& path) {
  struct stat status {
  }, link{};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return "";
  const bool is_link = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  return (is_link ? "a symbolic link to " : "") + kind_of(status.st_mode);
}

void require_regular(const fs::path& path) {
  if (const std::string kind = kind_instead_of_file(path); !kind.empty()) refuse_kind(path, kind);
}

int open_regular(const fs::path& path, int flags) {
  require_regular(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
  struct stat status {};
  if (file < 0 || (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))) return file;
  ::close(file);  // the file was exchanged after the check
  refuse_kind(path, kind_of(status.st_mode));
}

}  // namespace eave
