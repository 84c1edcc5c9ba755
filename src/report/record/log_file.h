// A file to which a run appends. A failure to write it never ends the run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/files/output_path.h"

namespace eave {

using Warn = std::function<void(const std::string&)>;  // shows one warning to the person who started the run

class LogFile {
 public:
  // Opens the file for appending, and creates it if it does not exist. An existing file must be eave's own, as
  // `open_own` requires, or a character device. `warn` is called at the first failure to write, and not again. Throws
  // Error(kCannotCreate).
  explicit LogFile(const OutputPath& path, Warn warn = {});

  // Appends the whole record or nothing. Returns false if the record is lost, for example on a full disk, or because
  // somebody has removed the file. Each call tries again.
  bool add(std::string_view record);
  // Appends lines, each with its line end, as many as fit, from the first on. Returns how many are lost.
  std::int64_t add_lines(std::string_view lines);

  // Waits until all written text is on the disk. May be called by any thread. Returns why that failed, or "".
  std::string flush() const;

  std::int64_t lost() const { return lost_; }              // records and lines, so far
  const std::string& problem() const { return problem_; }  // of the last call; "" if it wrote everything
  std::filesystem::path path() const { return path_.path(); }

 private:
  enum class Unit { kAll, kLine };
  std::size_t write(std::string_view text, Unit unit);
  bool cut();
  bool is_removed();
  void fail(int error);
  void fail(const std::string& why, const char* what_follows);
  OutputPath path_;
  Warn warn_;
  Descriptor file_;
  bool counts_links_ = true;  // some file systems say 0 of each file
  std::int64_t end_ = 0;      // length of the file up to the end of its last whole record or line
  bool is_torn_ = false;      // a torn record stands after end_ and could not be removed yet
  bool has_warned_ = false;
  std::int64_t lost_ = 0;
  std::string problem_;
};

}  // namespace eave
