// A file that is added to while a run goes on, and whose failures never end the run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/output_path.h"

namespace eave {

using Warn = std::function<void(const std::string&)>;  // shows one warning to the person who started the run

class LogFile {
 public:
  // Adds to the file, which is made if it is not there; what is there must be a file of eave's own, as open_own has it,
  // or a character device. `warn` hears of the first failure, and no more of others.
  // Throws Error(kCannotCreate).
  explicit LogFile(const OutputPath& path, Warn warn = {});

  // Adds a record whole, or not at all (a full disk): then it is lost and false. Each call tries again.
  bool add(std::string_view record);
  // Adds lines, each with its end: as many as there is space for, from the first. Returns how many are lost.
  std::int64_t add_lines(std::string_view lines);

  // What was written is on the disk. Any thread. Returns why it is not; "": it is.
  std::string flush() const;

  std::int64_t lost() const { return lost_; }              // records and lines, so far
  const std::string& problem() const { return problem_; }  // of the last call; "" where it wrote all
  std::filesystem::path path() const { return path_.path(); }

 private:
  enum class Unit { kAll, kLine };
  std::size_t write(std::string_view text, Unit unit);
  bool cut();
  void fail(int error);
  OutputPath path_;
  Warn warn_;
  Descriptor file_;
  std::int64_t end_ = 0;  // of what is whole
  bool is_torn_ = false;  // something stands behind the end that could not be removed yet
  bool has_warned_ = false;
  std::int64_t lost_ = 0;
  std::string problem_;
};

}  // namespace eave
