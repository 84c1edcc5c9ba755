#include "base/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/files/durable.h"
#include "base/files/regular_file.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

// Why there is no such file, and what to do.
std::string describe_absence(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
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

void write_file_atomically(const OutputPath& path, const std::string& content, FileCalls& calls) {
  write_file_atomically(path, std::vector<std::string_view>{content}, calls);
}

void write_file_atomically(const OutputPath& path, const std::vector<std::string_view>& pieces, FileCalls& calls) {
  if (path.is_of_person()) return write_named_file(path.path(), pieces);
  const OutputPath beside = path.with(".partial");
  OutputFile file(beside, FileCalls::Existing::kReplace, calls);
  try {
    for (const std::string_view piece : pieces) file.write(piece);
    file.finish();
    rename_file(beside, path, calls);
  } catch (const Error&) {
    remove_tree(beside, calls);
    throw;
  }
  flush_directory(path.folder(), calls);
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
