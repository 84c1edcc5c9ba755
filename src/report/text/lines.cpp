#include "report/text/lines.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/files/input_file.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::size_t kLargestChunk = std::size_t{1} << 16;
constexpr std::size_t kLongest = std::size_t{1} << 26;

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

LineReader::LineReader(const std::filesystem::path& path) : name_(path.filename().string()) {
  require_file(path);
  file_.open(path, std::ios::binary);
  if (!file_) throw Error(ExitCode::kInputOutput, "cannot read " + name_ + ": " + std::strerror(errno));
}

// Reads more text after the rest that is left. Returns false if no more text comes.
bool LineReader::fill() {
  text_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = text_.size();
  if (before > kLongest) {
    throw Error(ExitCode::kBadData, name_ + " line " + std::to_string(number_ + 1) + " is longer than 64 MiB");
  }
  text_.resize(before + chunk_);
  file_.read(text_.data() + before, static_cast<std::streamsize>(chunk_));
  chunk_ = std::min(2 * chunk_, kLargestChunk);  // many files are short, so the chunk starts small
  text_.resize(before + static_cast<std::size_t>(file_.gcount()));
  if (file_.bad()) throw Error(ExitCode::kInputOutput, "cannot read " + name_);
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

}  // namespace eave
