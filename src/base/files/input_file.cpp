#include "base/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files/regular_file.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {

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

}  // namespace eave
