// Reads a text file of any length line by line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
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
  std::string name_;
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

}  // namespace eave
