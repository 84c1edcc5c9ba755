#include "report/read/line_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/files/input_file.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::size_t kLargestChunk = std::size_t{1} << 16;
constexpr std::size_t kLongest = std::size_t{1} << 26;  // bytes of a line

void require_file(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  require_regular(path);
  if (fs::is_regular_file(path, error)) return;
  if (error == std::errc::permission_denied)
    throw Error(ExitCode::kInputOutput, "cannot read " + path.string() + ": " + error.message());
  if (fs::is_symlink(path, error)) {
    throw Error(ExitCode::kInputMissing,
                path.string() + " is a symbolic link that leads to no file; put the file itself in its place");
  }
  if (!path.parent_path().empty() && !fs::exists(path.parent_path(), error))
    throw Error(ExitCode::kInputMissing, "there is no such directory; check the path");
  throw Error(ExitCode::kInputMissing, "no " + path.filename().string());
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path) : path_(path) {
  require_file(path);
  file_.open(path, std::ios::binary);
  if (!file_) throw Error(ExitCode::kInputOutput, "cannot read " + path.string() + ": " + std::strerror(errno));
}

// Reads more text after the rest that is left. Returns false if no more text comes.
bool LineReader::fill() {
  text_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = text_.size();
  if (before > kLongest) {
    throw Error(ExitCode::kBadData,
                path_.filename().string() + " line " + std::to_string(number_ + 1) + " is longer than 64 MiB");
  }
  text_.resize(before + chunk_);
  file_.read(text_.data() + before, static_cast<std::streamsize>(chunk_));
  chunk_ = std::min(2 * chunk_, kLargestChunk);  // many files are short, so the chunk starts small
  text_.resize(before + static_cast<std::size_t>(file_.gcount()));
  if (file_.bad()) throw Error(ExitCode::kInputOutput, "cannot read " + path_.string());
  return text_.size() > before;
}

bool LineReader::next(std::string_view& line) {
  std::size_t end = text_.find('\n', begin_);
  while (end == std::string::npos) {
    const std::size_t left = text_.size() - begin_;
    if (!fill()) break;
    end = text_.find('\n', left);
  }
  is_whole_ = end != std::string::npos;
  if (!is_whole_) end = text_.size();
  if (!is_whole_ && begin_ == end) return false;
  line = std::string_view(text_).substr(begin_, end - begin_);
  begin_ = is_whole_ ? end + 1 : end;
  ++number_;
  return true;
}

std::string last_line(const std::filesystem::path& path, std::size_t most) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";  // reading a pipe would block until its writer writes
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  for (std::size_t length = 4096; size > 0 && file; length *= 8) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uintmax_t>(static_cast<std::uintmax_t>(size), std::min(length, most)));
    std::string text(count, '\0');
    file.seekg(-static_cast<std::streamoff>(count), std::ios::end);
    file.read(text.data(), static_cast<std::streamsize>(count));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const std::size_t start = text.rfind('\n');
    if (start != std::string::npos) return text.substr(start + 1);
    if (count == static_cast<std::size_t>(size) || count == most) return text;
  }
  return "";
}

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
  is_too_long_ = is_too_long_ || torn_.size() + piece.size() > kLongest;
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
