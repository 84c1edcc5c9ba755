// Follows a file of lines that another process writes.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace eave {

class LineTail {
 public:
  explicit LineTail(std::filesystem::path path) : path_(std::move(path)) {}

  // Hands over each line that became whole since the last call; what lacks its end waits for it. Where the file is not
  // the one of the last call (replaced, or shorter), `begin_anew` is called and it is read from its start; the first
  // time, too. False while there is no file.
  bool read(const std::function<void()>& begin_anew, const std::function<void(const std::string&)>& take);

 private:
  bool is_another() const;
  bool open();

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;  // stays open, so that no other file can get its number
  long long offset_ = 0;
  std::string torn_;
};

}  // namespace eave
