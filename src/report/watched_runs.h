// A run directory, or a directory that holds several, as `eave compare --output` leaves it, while its runs go on.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/line_tail.h"
#include "report/watched_run.h"

namespace eave {

// Follows the metrics.jsonl of one run.
class RunFollower {
 public:
  explicit RunFollower(const std::filesystem::path& directory) : tail_(directory / "metrics.jsonl") {}
  void poll();
  const WatchedRun& run() const { return run_; }
  int beginnings() const {
    return beginnings_;
  }  // how often the file was read from its start: again, when it was replaced

 private:
  LineTail tail_;
  WatchedRun run_;
  int beginnings_ = 0;
};

class WatchedRuns {
 public:
  explicit WatchedRuns(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Reads what is new. False while there is no run.
  bool poll();

  bool is_one() const { return is_one_; }                                      // the directory itself is the run
  const std::string& newest() const { return newest_; }                        // the run that was written to last
  const RunFollower& follower() const { return *runs_.at(newest_).follower; }  // of the newest
  bool is_left() const;          // the directory has the summary of a run, and no process holds the lock of a run in it
  double quiet_seconds() const;  // since the newest was written to

  // A line for each run, those written to last at the end; the first says how many there are. At most `rows` lines.
  std::vector<std::string> table(int rows) const;

 private:
  enum State { kBegun, kFinished, kFailed };
  struct Entry {
    std::filesystem::file_time_type changed;
    State state = kBegun;
    std::optional<RunSummary> summary;      // finished
    std::string failure;                    // failed
    std::unique_ptr<RunFollower> follower;  // of the newest, and of all that go on
  };
  std::vector<std::filesystem::path> run_directories() const;
  void look(const std::filesystem::path& path, Entry& entry, bool is_newest);
  static std::string describe(const Entry& entry);

  const std::filesystem::path directory_;
  bool is_one_ = false;
  std::map<std::string, Entry> runs_;  // by name
  std::string newest_;
};

}  // namespace eave
