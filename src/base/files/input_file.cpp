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

// Uses no stream: most files are short, and setting up a stream takes longer than reading them.
class ReadableFile {
 public:
  explicit ReadableFile(const std::filesystem::path& path) : path_(path) {
    file_ = open_regular(path);
    if (file_ < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != ENAMETOOLONG) fail(errno);
    if (file_ < 0) throw Error(ExitCode::kInputMissing, "no file " + path.string() + ": " + describe_absence(path));
    struct stat status {};
    if (::fstat(file_, &status) != 0) fail(errno);
    size_ = static_cast<std::size_t>(status.st_size);
  }
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  ~ReadableFile() { close(); }

  std::size_t size() const { return size_; }
  // Reads up to `most` bytes; 0 only at the end.
  std::size_t read(char* into, std::size_t most) const {
    while (true) {
      const ssize_t count = ::read(file_, into, most);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) fail(errno);
    }
  }

 private:
  [[noreturn]] void fail(int reason) const {
    throw Error(ExitCode::kInputOutput, "cannot read " + path_.string() + ": " + std::strerror(reason));
  }
  void close() const {
    if (file_ >= 0) ::close(file_);
  }
  const std::filesystem::path& path_;
  int file_ = -1;
  std::size_t size_ = 0;
};

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

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  file_ = open_regular(path, O_NOFOLLOW);
  if (file_ < 0) {
    const std::string reason = errno == ELOOP ? "it is a symbolic link" : std::strerror(errno);
    throw Error(ExitCode::kInputMissing, "cannot open " + path.string() + ": " + reason);
  }
  struct stat status {};
  if (::fstat(file_, &status) != 0) status.st_size = 0;
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(file_); }

void InputFile::read(char* into, std::uint64_t count) {
  while (count > 0) {
    const ssize_t taken = ::read(file_, into, count);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) {
      throw Error(ExitCode::kInputOutput,
                  "cannot read " + path_.string() + ": " + (taken == 0 ? "it ends too early" : std::strerror(errno)));
    }
    into += taken;
    count -= static_cast<std::uint64_t>(taken);
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
  const ReadableFile file(path);
  if (file.size() > limit_bytes) {
    throw Error(ExitCode::kBadData, path.string() + " is larger than " + count_text(limit_bytes, "byte"));
  }
  std::string content(file.size(), '\0');
  std::size_t size = 0;
  while (const std::size_t count = file.read(content.data() + size, content.size() - size)) size += count;
  content.resize(size);
  // Files of the system, such as those in /proc, report a size of 0.
  std::array<char, 4096> more;
  while (const std::size_t count = file.read(more.data(), more.size())) content.append(more.data(), count);
  return content;
}

}  // namespace eave
