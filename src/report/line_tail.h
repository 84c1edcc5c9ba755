// Follows a file of lines that another process writes.
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

  // Handed over in place of a line over 64 MiB, of which nothing is kept.
  static constexpr std::string_view kTooLong = "a line of more than 64 MiB";

  // Hands over each line that became whole since the last call; what lacks its end waits for it. If the file is not
  // the one of the last call (replaced, or shorter), `begin_anew` is called and it is read from its start; the first
  // time, too. False while there is no file. The time is proportional to what is new, the memory to the longest line.
  bool read(const std::function<void()>& begin_anew, const std::function<void(const std::string&)>& take);

 private:
  bool is_another() const;
  bool open();
  void add(std::string_view piece, const std::function<void(const std::string&)>& take);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;  // stays open, so that no other file can get its number
  long long offset_ = 0;
  std::string torn_;          // the start of a line whose end is not there yet
  bool is_too_long_ = false;  // that line: its start was dropped
};

}  // namespace eave
