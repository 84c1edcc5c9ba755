// Reads text files of any length line by line: files that are complete, and files that another process appends to.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace eave {

class LineReader {
 public:
  // Throws Error: kInputMissing (no file), kBadData (not a regular file).
  explicit LineReader(const std::filesystem::path& path);

  // Sets `line` to the next line without its line end. The text is valid until the next call. Returns false at the end
  // of the file. Throws Error: kBadData (a line over 64 MiB), kInputOutput.
  bool next(std::string_view& line);

  std::size_t number() const { return number_; }  // of the line last read, from 1
  bool is_whole() const { return is_whole_; }     // the last line had a line end

 private:
  bool fill();
  std::filesystem::path path_;
  std::ifstream file_;
  std::size_t chunk_ = 4096;
  std::string text_;  // text from begin_ on is not handed out yet
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
  bool is_whole_ = true;
};

// The last line of a regular file, or its last `most` bytes if the line is longer. Empty if there is no such file or
// line.
std::string last_line(const std::filesystem::path& path, std::size_t most);

// Follows a file that another process appends lines to.
class LineTail {
 public:
  explicit LineTail(std::filesystem::path path) : path_(std::move(path)) {}

  // Handed over instead of a line over 64 MiB, whose text is dropped.
  static constexpr std::string_view kTooLong = "a line of more than 64 MiB";

  // Hands over each line that was completed since the last call. The start of an incomplete line is kept until the line
  // ends. On the first call, and when the file was replaced or became shorter, it calls `begin_anew` and reads from the
  // start. Returns false while there is no file. Time is proportional to the new text, memory to the longest line.
  bool read(const std::function<void()>& begin_anew, const std::function<void(const std::string&)>& take);

 private:
  bool is_another() const;
  bool open();
  void add(std::string_view piece, const std::function<void(const std::string&)>& take);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::filesystem::path path_;
  // Stays open, so that the system cannot give its file number to another file.
  std::unique_ptr<std::FILE, Close> file_;
  long long offset_ = 0;
  std::string torn_;          // the start of an incomplete line
  bool is_too_long_ = false;  // the incomplete line exceeds the limit, and its start was dropped
};

}  // namespace eave
