#include "report/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "eave/check.h"

namespace eave {

LogFile::LogFile(const std::filesystem::path& path, Warn warn) : path_(path), warn_(std::move(warn)) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const std::string why = std::strerror(errno);
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Error(ExitCode::kCannotCreate, "cannot create " + path.string() + ": " + why);
  }
  end_ = S_ISREG(status.st_mode) ? status.st_size : 0;
}

LogFile::~LogFile() { ::close(descriptor_); }

bool LogFile::add(std::string_view record) {
  if (write(record, Unit::kAll) == record.size()) return true;
  ++lost_;
  return false;
}

std::int64_t LogFile::add_lines(std::string_view lines) {
  const std::string_view left = lines.substr(write(lines, Unit::kLine));
  const std::int64_t lost = std::ranges::count(left, '\n');
  lost_ += lost;
  return lost;
}

std::string LogFile::flush() const {
  while (::fdatasync(descriptor_) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == EROFS) break;  // no file of a disk
    return "cannot flush " + path_.string() + ": " + std::strerror(errno);
  }
  return "";
}

// Returns how many bytes are there now, of whole units.
std::size_t LogFile::write(std::string_view text, Unit unit) {
  problem_.clear();
  if (is_torn_ && !cut()) return 0;
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(descriptor_, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  if (written == text.size()) {
    end_ += static_cast<std::int64_t>(written);
    return written;
  }
  fail(errno);
  const std::size_t line_end = unit == Unit::kLine ? text.substr(0, written).rfind('\n') : std::string_view::npos;
  const std::size_t kept = line_end == std::string_view::npos ? 0 : line_end + 1;
  end_ += static_cast<std::int64_t>(kept);
  is_torn_ = kept != written;
  if (is_torn_) cut();
  return kept;
}

bool LogFile::cut() {
  is_torn_ = ::ftruncate(descriptor_, end_) != 0;
  if (is_torn_) fail(errno);
  return !is_torn_;
}

void LogFile::fail(int error) {
  problem_ = "cannot write " + path_.string() + ": " + std::strerror(error);
  if (has_warned_ || !warn_) return;
  has_warned_ = true;
  warn_(problem_ + "; the run goes on without, and writes there again when it can");
}

}  // namespace eave
