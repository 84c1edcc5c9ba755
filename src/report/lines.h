// A text file line by line, however long it is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace eave {

class LineReader {
 public:
  // Throws Error: kInputMissing (it is not there), kBadData (it is no regular file).
  explicit LineReader(const std::filesystem::path& path);

  // Sets `line` to the next line without its end, valid until the next call; false at the end of the file.
  // Throws Error(kBadData) for a line over 64 MiB, kInputOutput.
  bool next(std::string_view& line);

  std::size_t number() const { return number_; }  // of the line last read, from 1
  bool is_whole() const { return is_whole_; }     // it had a line end

 private:
  bool fill();
  std::string name_;
  std::ifstream file_;
  std::size_t chunk_ = 4096;
  std::string text_;  // what was read and not yet handed out lies in [begin_, end)
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
  bool is_whole_ = true;
};

// The last line of a plain file, or the end of it if the line is longer than `most`. Empty where there is none.
std::string last_line(const std::filesystem::path& path, std::size_t most);

}  // namespace eave
