#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "eave/check.h"

namespace eave {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail(ExitCode code, const std::string& what, const std::filesystem::path& path) {
  throw Error(code, what + " " + path.string() + ": " + std::strerror(errno));
}

void write_all(int descriptor, std::string_view content, const std::filesystem::path& path) {
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(descriptor, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(ExitCode::kInputOutput, "cannot write", path);
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, const std::string& content) {
  write_file_atomically(path, std::vector<std::string_view>{content});
}

void write_file_atomically(const std::filesystem::path& path, const std::vector<std::string_view>& pieces) {
  const std::filesystem::path beside = path.string() + ".partial";
  {
    const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.number() < 0) fail(ExitCode::kCannotCreate, "cannot create", beside);
    for (const std::string_view piece : pieces) write_all(file.number(), piece, beside);
    if (::fsync(file.number()) != 0) fail(ExitCode::kInputOutput, "cannot flush", beside);
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) fail(ExitCode::kCannotCreate, "cannot create", path);
}

std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ExitCode::kInputMissing, "no file " + path.string());
  }
  if (std::filesystem::file_size(path, error) > limit_bytes) {
    throw Error(ExitCode::kBadData, path.string() + " is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file && !file.eof()) fail(ExitCode::kInputOutput, "cannot read", path);
  return content;
}

}  // namespace eave
