#include "report/record/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files/file_errors.h"
#include "eave/check.h"

namespace eave {

LogFile::LogFile(const OutputPath& path, Warn warn)
    : path_(path), warn_(std::move(warn)), file_(open_own(path, O_WRONLY | O_APPEND, true)) {
  struct stat status {};
  if (!file_.is_open() || ::fstat(file_.number(), &status) != 0)
    throw Error(ExitCode::kCannotCreate, "cannot create " + path.string() + ": " + why_not_written(errno, path));
  end_ = S_ISREG(status.st_mode) ? status.st_size : 0;
  counts_links_ = status.st_nlink > 0;
}

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
  while (::fdatasync(file_.number()) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == EROFS) break;  // not a file on a disk
    return "cannot flush " + path_.string() + ": " + words_of_error(errno);
  }
  return "";
}

// Returns how many bytes of whole units (all, or lines) are in the file now.
std::size_t LogFile::write(std::string_view text, Unit unit) {
  problem_.clear();
  if (is_removed()) return 0;
  if (is_torn_ && !cut()) return 0;
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file_.number(), text.data() + written, text.size() - written);
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

// Whether somebody has removed the file, as with its whole directory. Nobody could read what is written to it.
bool LogFile::is_removed() {
  struct stat status {};
  if (!counts_links_ || ::fstat(file_.number(), &status) != 0 || status.st_nlink > 0) return false;
  fail("it was removed", "the run goes on without");
  return true;
}

bool LogFile::cut() {
  is_torn_ = ::ftruncate(file_.number(), end_) != 0;
  if (is_torn_) fail(errno);
  return !is_torn_;
}

void LogFile::fail(int error) {
  fail(words_of_error(error), "the run goes on without, and writes there again when it can");
}

void LogFile::fail(const std::string& why, const char* what_follows) {
  problem_ = "cannot write " + path_.string() + ": " + why;
  if (has_warned_ || !warn_) return;
  has_warned_ = true;
  warn_(problem_ + "; " + what_follows);
}

}  // namespace eave
