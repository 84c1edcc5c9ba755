// Follows a run directory, or a directory of several runs that `eave compare --output` writes, while the runs go on.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/read/line_reader.h"
#include "report/watch/watched_run.h"

namespace eave {

// Follows the metrics.jsonl of one run.
class RunFollower {
 public:
  explicit RunFollower(const std::filesystem::path& directory) : tail_(directory / "metrics.jsonl") {}
  void poll();
  const WatchedRun& run() const { return run_; }
  // How often the file was read from its start: once more each time that it was replaced.
  int beginnings() const { return beginnings_; }

 private:
  LineTail tail_;
  WatchedRun run_;
  int beginnings_ = 0;
};

class WatchedRuns {
 public:
  explicit WatchedRuns(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Reads all new lines. Returns false while there is no run. Throws Error(kInputOutput) if the directory cannot be
  // read.
  bool poll();

  bool is_one() const { return is_one_; }                                      // the directory itself is a run's
  const std::string& newest() const { return newest_; }                        // the run that was written to last
  const RunFollower& follower() const { return *runs_.at(newest_).follower; }  // of the newest
  // Whether the directory has the summary of a run, and no process holds a run's lock there.
  bool is_left() const;
  // Whether the one run was written by a process of this host that ended without freeing the run's lock.
  bool was_killed() const;
  // Whether that has been so for a while. A run that is being resumed has another owner sooner.
  bool stays_killed();
  // Whether runs were seen, and the directory has been missing for a moment. One that is being replaced is back sooner.
  bool is_gone();
  double quiet_seconds() const;  // since the newest run was written to

  // At most `rows` lines: a count of runs, then one line for each run. Runs are sorted by the time of their last write,
  // the newest at the end.
  std::vector<std::string> table(int rows) const;

 private:
  enum State { kBegun, kFinished, kFailed };
  struct Entry {
    std::filesystem::file_time_type changed;
    State state = kBegun;
    std::optional<RunSummary> summary;      // if finished
    std::string failure;                    // if failed: as describe_failed_end, or why the run cannot be read
    std::unique_ptr<RunFollower> follower;  // for the newest run, and for all that go on
  };
  std::vector<std::filesystem::path> run_directories() const;
  void look(const std::filesystem::path& path, Entry& entry, bool is_newest);
  static std::string describe(const Entry& entry);

  const std::filesystem::path directory_;
  bool is_one_ = false;
  std::map<std::string, Entry> runs_;  // by name
  std::string newest_;
  std::optional<std::chrono::steady_clock::time_point> gone_since_, killed_since_;
};

}  // namespace eave
