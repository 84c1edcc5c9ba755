// A file that is added to while a run goes on, and whose failures never end the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace eave {

using Warn = std::function<void(const std::string&)>;  // shows one warning to the person who started the run

class LogFile {
 public:
  // Adds to the file, which is made where it is not there. `warn` hears of the first failure, and no more of others.
  // Throws Error(kCannotCreate).
  explicit LogFile(const std::filesystem::path& path, Warn warn = {});
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Adds a record whole, or not at all (a full disk): then it is lost and false. Each call tries again.
  bool add(std::string_view record);
  // Adds lines, each with its end: as many as there is space for, from the first. Returns how many are lost.
  std::int64_t add_lines(std::string_view lines);

  // What was written is on the disk. Any thread. Returns why it is not; "": it is.
  std::string flush() const;

  std::int64_t lost() const { return lost_; }              // records and lines, so far
  const std::string& problem() const { return problem_; }  // of the last call; "" where it wrote all
  const std::filesystem::path& path() const { return path_; }

 private:
  enum class Unit { kAll, kLine };
  std::size_t write(std::string_view text, Unit unit);
  bool cut();
  void fail(int error);
  std::filesystem::path path_;
  Warn warn_;
  int descriptor_ = -1;
  std::int64_t end_ = 0;  // of what is whole
  bool is_torn_ = false;  // something stands behind the end that could not be removed yet
  bool has_warned_ = false;
  std::int64_t lost_ = 0;
  std::string problem_;
};

}  // namespace eave
