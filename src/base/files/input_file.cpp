#include "base/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/options/number_text.h"
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

// Why there is no such file, and what to do.
std::string describe_absence(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(path, error)) return "it is a symbolic link that leads to no file; mend the link";
  const fs::path directory = path.parent_path().empty() ? fs::current_path(error) : path.parent_path();
  if (fs::is_directory(directory, error)) return "it is not in " + directory.string() + "; check the path";
  return "there is no directory " + directory.string() + "; check the path";
}

[[noreturn]] void refuse_reading(const fs::path& path, const std::string& reason) {
  throw Error(ExitCode::kInputOutput, "cannot read " + path.string() + ": " + reason);
}

bool is_absent(int reason) {
  return reason == ENOENT || reason == ENOTDIR || reason == ELOOP || reason == ENAMETOOLONG;
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

std::size_t read_some(const Descriptor& file, char* into, std::size_t most, const fs::path& path) {
  const ssize_t count = file.is_open() ? uninterrupted([&] { return ::read(file.number(), into, most); }) : -1;
  if (count < 0) refuse_reading(path, std::strerror(errno));
  return static_cast<std::size_t>(count);
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path), file_(open_regular(path, O_NOFOLLOW)) {
  if (!file_.is_open()) {
    const std::string reason = errno == ELOOP ? "it is a symbolic link" : std::strerror(errno);
    throw Error(ExitCode::kInputMissing, "cannot open " + path.string() + ": " + reason);
  }
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) status.st_size = 0;
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(char* into, std::uint64_t count) {
  while (count > 0) {
    const std::size_t taken = read_some(file_, into, count, path_);
    if (taken == 0) refuse_reading(path_, "it ends too early");
    into += taken;
    count -= taken;
  }
}

std::string InputFile::read_whole(std::uint64_t limit) {
  if (size_ > limit) {
    throw Error(ExitCode::kBadData, path_.string() + " has more than " + count_text(limit, "byte"));
  }
  std::string content(size_, '\0');
  read(content.data(), content.size());
  return content;
}

std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const Descriptor file(open_regular(path));
  if (!file.is_open() && is_absent(errno))
    throw Error(ExitCode::kInputMissing, "no file " + path.string() + ": " + describe_absence(path));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) refuse_reading(path, std::strerror(errno));
  const auto expected = static_cast<std::size_t>(status.st_size);
  if (expected > limit_bytes) {
    throw Error(ExitCode::kBadData, path.string() + " is larger than " + count_text(limit_bytes, "byte"));
  }
  std::string content(expected, '\0');
  std::size_t size = 0;
  while (const std::size_t count = read_some(file, content.data() + size, expected - size, path)) size += count;
  content.resize(size);
  // Files of the system, such as those in /proc, report a size of 0.
  std::array<char, 4096> more;
  while (const std::size_t count = read_some(file, more.data(), more.size(), path)) content.append(more.data(), count);
  return content;
}

}  // namespace eave
