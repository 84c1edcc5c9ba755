#include "report/read/line_tail.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/files/input_file.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::size_t kLongestKept = std::size_t{1} << 26;

}  // namespace

bool LineTail::is_another() const {
  struct stat mine {
  }, there{};
  if (::fstat(::fileno(file_.get()), &mine) != 0 || ::stat(path_.c_str(), &there) != 0) return true;
  return mine.st_dev != there.st_dev || mine.st_ino != there.st_ino || there.st_size < offset_;
}

bool LineTail::open() {
  const int file = open_regular(path_);
  if (file < 0 && errno == EACCES)
    throw Error(ExitCode::kInputOutput, "cannot read " + path_.string() + ": " + std::strerror(errno));
  file_.reset(file < 0 ? nullptr : ::fdopen(file, "rb"));
  offset_ = 0;
  torn_.clear();
  is_too_long_ = false;
  return file_ != nullptr;
}

void LineTail::add(std::string_view piece, const std::function<void(const std::string&)>& take) {
  for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
    if (!is_too_long_) torn_ += piece.substr(0, end);
    take(is_too_long_ ? std::string(kTooLong) : torn_);
    torn_.clear();
    is_too_long_ = false;
  }
  is_too_long_ = is_too_long_ || torn_.size() + piece.size() > kLongestKept;
  if (!is_too_long_) torn_ += piece;
  if (is_too_long_) std::string().swap(torn_);
}

bool LineTail::read(const std::function<void()>& begin_anew, const std::function<void(const std::string&)>& take) {
  if (!file_ || is_another()) {
    if (!open()) return false;
    begin_anew();
  }
  std::vector<char> piece(std::size_t{1} << 16);
  for (;;) {
    const ssize_t count = ::pread(::fileno(file_.get()), piece.data(), piece.size(), offset_);
    if (count <= 0) return true;
    offset_ += count;
    add({piece.data(), static_cast<std::size_t>(count)}, take);
  }
}

}  // namespace eave
