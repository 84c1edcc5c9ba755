#include "report/line_tail.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

namespace eave {

bool LineTail::is_another() const {
  struct stat mine {
  }, there{};
  if (::fstat(::fileno(file_.get()), &mine) != 0 || ::stat(path_.c_str(), &there) != 0) return true;
  return mine.st_dev != there.st_dev || mine.st_ino != there.st_ino || there.st_size < offset_;
}

bool LineTail::open() {
  file_.reset(std::fopen(path_.c_str(), "rbe"));
  offset_ = 0;
  torn_.clear();
  return file_ != nullptr;
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
    torn_.append(piece.data(), static_cast<std::size_t>(count));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = torn_.find('\n', start)) != std::string::npos; start = end + 1)
      take(torn_.substr(start, end - start));
    torn_.erase(0, start);
  }
}

}  // namespace eave
