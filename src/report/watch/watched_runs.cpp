#include "report/watch/watched_runs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <system_error>

#include "base/files/directory_lock.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "eave/check.h"
#include "report/read/run_reader.h"
#include "report/record/metric.h"
#include "report/record/run_directory.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr double kQuietSeconds = 30;
constexpr std::chrono::seconds kMoment{2}, kUntilResumed{10};

// Whether it has been so for longer than `time`. `since`: when it began.
bool lasts(bool is_so, std::optional<std::chrono::steady_clock::time_point>& since, std::chrono::seconds time) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_so) since.reset();
  if (is_so && !since) since = now;
  return since && now - *since > time;
}

double seconds_since(fs::file_time_type time) {
  return std::chrono::duration<double>(fs::file_time_type::clock::now() - time).count();
}

fs::file_time_type last_change(const fs::path& directory) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(directory / "metrics.jsonl", error);
  return error ? fs::file_time_type::min() : time;
}

}  // namespace

void RunFollower::poll() {
  tail_.read(
      [this] {
        run_ = WatchedRun();
        ++beginnings_;
      },
      [this](const std::string& line) { run_.take(line); });
}

std::vector<fs::path> WatchedRuns::run_directories() const {
  return holds_run(directory_) ? std::vector<fs::path>{directory_} : runs_below(directory_);
}

bool WatchedRuns::poll() {
  const std::vector<fs::path> directories = run_directories();
  // A run that is being replaced may have no metrics.jsonl for a moment.
  if (directories.empty()) {
    std::error_code error;
    const fs::directory_iterator entries(directory_, error);
    if (error == std::errc::permission_denied)
      throw Error(ExitCode::kInputOutput, "cannot read " + directory_.string() + ": " + error.message());
    return !runs_.empty();
  }
  is_one_ = directories.front() == directory_;
  const auto name_of = [&](const fs::path& path) { return is_one_ ? path.string() : path.filename().string(); };
  std::map<std::string, fs::file_time_type> changed;
  for (const fs::path& path : directories) changed[name_of(path)] = last_change(path);
  std::erase_if(runs_, [&](const auto& run) { return !changed.contains(run.first); });
  newest_ = std::ranges::max_element(changed, {}, [](const auto& run) { return run.second; })->first;
  for (const fs::path& path : directories) {
    const std::string name = name_of(path);
    const auto [found, is_new] = runs_.try_emplace(name);
    const bool is_other = is_new || found->second.changed != changed.at(name);
    found->second.changed = changed.at(name);
    if (is_other || found->second.follower || name == newest_) look(path, found->second, name == newest_);
  }
  return true;
}

// For a finished run the summary is enough, so its whole file is not read.
void WatchedRuns::look(const fs::path& path, Entry& entry, bool is_newest) {
  std::error_code error;
  if (!entry.follower && !is_newest && fs::exists(path / "summary.json", error)) {
    try {
      entry.summary = read_summary_of_run(path);
      entry.state = kFinished;
      return;
    } catch (const Error&) {
      entry.summary.reset();  // the summary is being replaced or damaged: read the metrics instead
    }
  }
  if (!entry.follower) entry.follower = std::make_unique<RunFollower>(path);
  try {
    entry.follower->poll();
  } catch (const Error& unreadable) {
    if (is_one_) throw;
    entry.failure = std::string("failed: ") + unreadable.what();
    entry.state = kFailed;
    return;
  }
  const WatchedRun& run = entry.follower->run();
  entry.summary = run.end();
  entry.failure = !run.failure()             ? ""
                  : run.has_unknown_format() ? run.failure()->message
                                             : describe_failed_end(run.failure()->code, run.failure()->message);
  entry.state = run.failure() ? kFailed : run.end() ? kFinished : kBegun;
  if (run.has_ended() && !is_newest) entry.follower.reset();
}

bool WatchedRuns::is_left() const {
  std::error_code error;
  return fs::exists(directory_ / "summary.json", error) && !living_owner(directory_ / kRunLock);
}

bool WatchedRuns::was_killed() const { return is_one_ && dead_owner(directory_ / kRunLock).has_value(); }

bool WatchedRuns::stays_killed() { return lasts(was_killed(), killed_since_, kUntilResumed); }

bool WatchedRuns::is_gone() {
  std::error_code error;
  return lasts(!runs_.empty() && !fs::exists(directory_, error) && !error, gone_since_, kMoment);
}

double WatchedRuns::quiet_seconds() const { return seconds_since(runs_.at(newest_).changed); }

std::string WatchedRuns::describe(const Entry& entry) {
  if (entry.state == kFailed) return entry.failure;
  if (entry.summary) {
    const EvaluationRecord& last = entry.summary->evaluation;
    return format("%8s  %s s", score_text(last.metric, last.center.accuracy).c_str(),
                  decimal_text(entry.summary->seconds, 1).c_str());
  }
  const WatchedRun& run = entry.follower->run();
  if (run.last().step == 0) return "begins";
  const double share = run.share_done();
  std::string text =
      share > 0 ? format("%4.0f %% done", 100 * share) : format("step %lld", static_cast<long long>(run.last().step));
  if (const double loss = run.recent().loss; std::isfinite(loss)) text += "  loss " + loss_text(loss);
  const double quiet = seconds_since(entry.changed);
  return quiet > kQuietSeconds ? text + "  quiet for " + clock_text(quiet) : text;
}

std::vector<std::string> WatchedRuns::table(int rows) const {
  std::array<int, 3> counts{};
  std::size_t width = 0;
  std::vector<const std::pair<const std::string, Entry>*> runs;
  for (const auto& run : runs_) {
    ++counts[static_cast<std::size_t>(run.second.state)];
    width = std::max(width, count_characters(run.first));
    runs.push_back(&run);
  }
  std::ranges::stable_sort(runs, {}, [](const auto* run) { return run->second.changed; });
  const auto count = [&](State state) { return counts[static_cast<std::size_t>(state)]; };
  std::string title = format("%s: %d finished, %d failed, %d begun", count_text(std::ssize(runs), "run").c_str(),
                             count(kFinished), count(kFailed), count(kBegun));
  const auto most = static_cast<std::size_t>(std::max(rows - 1, 1));
  const std::size_t first = runs.size() - std::min(runs.size(), most);
  if (first > 0) title += format("; the last %zu", runs.size() - first);
  std::vector<std::string> lines = {title};
  for (std::size_t i = first; i < runs.size(); ++i) {
    const std::string& name = runs[i]->first;
    lines.push_back("  " + padded(name, width + 2) + describe(runs[i]->second));
  }
  return lines;
}

}  // namespace eave
