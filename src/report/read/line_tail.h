// Follows a text file that another process appends lines to.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace eave {

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
