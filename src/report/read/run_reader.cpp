#include "report/read/run_reader.h"

#include <algorithm>
#include <set>
#include <variant>

#include "base/formats/strict_json.h"
#include "base/host.h"
#include "report/read/field_checks.h"
#include "report/read/line_reader.h"
#include "report/read/metrics_consistency.h"
#include "report/read/metrics_parser.h"
#include "report/record/config.h"
#include "report/record/json.h"
#include "report/record/json_fields.h"
#include "report/record/run_directory.h"
#include "report/record/summary.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCurvePoints = 200;
constexpr std::size_t kMostEvaluations = 20000;

// Sums over the steps of one rank.
struct RankTotals {
  double seconds = 0, computing = 0, exchanging = 0, waiting = 0, loading = 0, bytes = 0;
};

class MetricsReading {
 public:
  explicit MetricsReading(const std::filesystem::path& path) : lines_(path) {}

  RunRecord read() {
    for (std::string_view line; lines_.next(line);) read_line(line);
    if (lines_.number() == 0) throw Error(ExitCode::kBadData, "metrics.jsonl is empty: the run did not begin");
    if (totals_.empty()) throw Error(ExitCode::kBadData, "metrics.jsonl has no whole line: the run did not begin");
    run_.steps = curve_.points();
    run_.shares = shares();
    if (run_.end == RunEnd::kInterrupted && run_.why.empty()) run_.why = "neither an end nor a failure was recorded";
    return run_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::kBadData, "metrics.jsonl line " + std::to_string(lines_.number()) + why);
  }

  void read_line(std::string_view line) {
    try {
      std::visit([this](const auto& each) { read(each); }, parser_.take(line));
    } catch (const UnknownFormat& error) {
      refuse(std::string(": ") + error.what());
    } catch (const Json::exception& error) {
      // A killed run may leave an incomplete last line.
      if (lines_.is_whole()) refuse(" is damaged: " + why_unreadable(error) + kPutBack);
    }
  }

  // Each resume adds a header.
  void read(const HeaderLine& header) {
    run_.settings = header.config;
    run_.metric = header.metric;
    run_.train_samples = header.train_samples;
    run_.test_samples = header.test_samples;
    run_.test_labels = header.test_labels > 0 ? header.test_labels : header.test_samples;
    run_.tokens_per_sample = header.tokens_per_sample;
    run_.data_identity = header.data_identity;
    // A resumed run does not read its initial parameters again.
    if (!header.initial_identity.empty()) run_.initial_identity = header.initial_identity;
    run_.ranks = static_cast<int>(header.ranks.size());
    if (run_.ranks_in_turn.empty() || run_.ranks_in_turn.back() != run_.ranks) run_.ranks_in_turn.push_back(run_.ranks);
    run_.workers = header.workers();
    run_.device = header.ranks.front().device;
    run_.version = header.version;
    take_hosts(header.ranks);
    if (!totals_.empty()) run_.seconds_before = std::ranges::max(totals_, {}, &RankTotals::seconds).seconds;
    run_.end = RunEnd::kInterrupted;
    run_.why.clear();
    totals_.resize(header.ranks.size());
  }

  void take_hosts(const std::vector<HeaderRank>& ranks) {
    run_.ranks_of_hosts.clear();
    for (const HeaderRank& rank : ranks) {
      if (!rank.host.empty()) run_.hosts.insert(rank.host);
      std::set<int> cores = cores_in(rank.cores);
      if (cores.empty()) continue;
      RanksOfHost& host = run_.ranks_of_hosts[rank.host];
      ++host.ranks;
      host.cores.merge(cores);
    }
  }

  void read(const StepLine& line) {
    RankTotals& totals = totals_[static_cast<std::size_t>(line[StepLine::kRank])];
    totals.seconds = line[StepLine::kSeconds];
    totals.computing += line[StepLine::kComputing];
    totals.exchanging += line[StepLine::kExchanging];
    totals.waiting += line[StepLine::kWaiting];
    totals.loading += line[StepLine::kLoading];
    totals.bytes += line[StepLine::kBytes];
    if (line[StepLine::kRank] != 0) return;
    curve_.add({totals.seconds, line[StepLine::kStep], line[StepLine::kEpoch], totals.bytes, line[StepLine::kLoss],
                line.gradient_norm});
  }

  void read(const EvaluationRecord& record) {
    EvaluationPoint point;
    point.record = record;
    point.bytes = std::ranges::max(totals_, {}, &RankTotals::bytes).bytes;
    if (run_.evaluations.size() == kMostEvaluations) drop_every_other_evaluation();
    run_.evaluations.push_back(point);
  }

  // The line of the last evaluation may be lost, but the end repeats it.
  void add_lost_evaluation(const RunSummary& end) {
    const bool has_it = !run_.evaluations.empty() && run_.evaluations.back().record.step == end.evaluation.step;
    if (run_.lost_lines == 0 || has_it) return;
    run_.evaluations.push_back({end.evaluation, static_cast<double>(end.bytes_per_rank)});
  }

  void drop_every_other_evaluation() {
    for (std::size_t i = 0; 2 * i + 1 < run_.evaluations.size(); ++i) run_.evaluations[i] = run_.evaluations[2 * i + 1];
    run_.evaluations.resize(run_.evaluations.size() / 2);
  }

  void read(const RunSummary& end) {
    run_.summary = end;
    add_lost_evaluation(end);
    run_.end = RunEnd::kFinished;
    run_.why.clear();
  }

  void read(const FailureLine& failure) {
    switch (static_cast<ExitCode>(failure.code)) {
      case ExitCode::kDiverged:
        run_.end = RunEnd::kDiverged;
        break;
      case ExitCode::kLeftOnRequest:  // the same command goes on with it
        run_.end = RunEnd::kInterrupted;
        break;
      default:
        run_.end = RunEnd::kFailed;
    }
    run_.why = failure.message;
  }

  void read(const LostLines& lost) { run_.lost_lines += lost.lines; }
  void read(const OtherLine&) {}

  TimeShares shares() const {
    RankTotals sum;
    for (const RankTotals& rank : totals_) {
      sum.seconds += rank.seconds;
      sum.computing += rank.computing;
      sum.exchanging += rank.exchanging;
      sum.waiting += rank.waiting;
      sum.loading += rank.loading;
    }
    if (!(sum.seconds > 0)) return {};
    const auto share = [&](double seconds) { return std::min(seconds / sum.seconds, 10.0); };
    return {share(sum.computing), share(sum.exchanging), share(sum.waiting), share(sum.loading)};
  }

  LineReader lines_;
  MetricsParser parser_;
  RunRecord run_;
  std::vector<RankTotals> totals_;  // by rank
  LossCurve curve_{kCurvePoints};
};

constexpr const char *kMetricsName = "metrics.jsonl", *kSummaryName = "summary.json", *kConfigName = "config.json";
constexpr std::size_t kLongestEnd = std::size_t{1} << 26;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// `file` contradicts a part of metrics.jsonl.
[[noreturn]] void refuse_pair(const fs::path& file, const std::string& difference, const char* part) {
  throw Error(ExitCode::kBadData, file.string() + ": " + difference + ", as in " + part +
                                      " of metrics.jsonl; put back a copy of both files, or train anew in another "
                                      "directory");
}

void require_same_summary(const fs::path& directory, const RunSummary& summary, const RunSummary& end) {
  const std::string other = difference(to_json(summary), to_json(end), "");
  if (other.empty()) return;
  refuse_pair(directory / kSummaryName, other, "the end");
}

struct NamedDirectory {
  fs::path path;
  std::string name;
};

std::vector<NamedDirectory> runs_in(const fs::path& directory, bool is_only_one) {
  std::vector<NamedDirectory> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (name.starts_with(".") || !entry->is_directory(unreadable)) continue;
    found.push_back({entry->path(), is_only_one ? name : (directory / name).string()});
  }
  std::ranges::sort(found, {}, &NamedDirectory::name);
  return found;
}

std::vector<NamedDirectory> candidates(const std::vector<fs::path>& directories, std::vector<LeftOut>& left_out) {
  std::vector<NamedDirectory> found;
  for (const fs::path& directory : directories) {
    if (const std::string why = why_no_directory_of_run(directory); !why.empty()) {
      left_out.push_back({directory.string(),
                          why + "; expected a run's (--run-dir of eave train), or one that holds such",
                          ExitCode::kInputMissing});
      continue;
    }
    if (holds_run(directory)) {
      found.push_back({directory, directory.string()});
      continue;
    }
    const std::vector<NamedDirectory> inside = runs_in(directory, directories.size() == 1);
    if (inside.empty()) found.push_back({directory, directory.string()});
    found.insert(found.end(), inside.begin(), inside.end());
  }
  return found;
}

}  // namespace

RunRecord read_metrics(const std::filesystem::path& path) { return MetricsReading(path).read(); }

void require_config_of_run(const fs::path& directory, const std::map<std::string, std::string>& config, bool is_whole) {
  const fs::path file = directory / kConfigName;
  if (config.empty() || !is_there(file)) return;
  const std::string other = differing_setting(read_config(file), config, is_whole);
  if (other.empty()) return;
  refuse_pair(file, other, "the header");
}

RunRecord read_run(const fs::path& directory) {
  RunRecord run = read_metrics(directory / kMetricsName);
  const bool has_finished = run.end == RunEnd::kFinished;
  // An unfinished run may be between two headers: config.json is written first, summary.json last.
  require_config_of_run(directory, run.settings, has_finished);
  if (has_finished && is_there(directory / kSummaryName))
    require_same_summary(directory, read_summary(directory / kSummaryName), *run.summary);
  return run;
}

Error error_of_run(const fs::path& directory, const Error& error) {
  const std::string why = error.what();
  const bool names_it = why.find((directory / "").string()) != std::string::npos;
  return {error.code(), names_it ? why : directory.string() + ": " + why};
}

bool has_end(const fs::path& directory) {
  const Json line = parse_json_or_discard(last_line(directory / kMetricsName, kLongestEnd));
  return line.is_object() && line.contains("type") && line.at("type") == "end";
}

RunSummary read_summary_of_run(const fs::path& directory) {
  const RunSummary summary = read_summary(directory / kSummaryName);
  if (has_end(directory)) {
    const std::string line = last_line(directory / kMetricsName, kLongestEnd);
    require_same_summary(directory, summary,
                         summary_of(line, "the last line of " + (directory / kMetricsName).string()));
  }
  return summary;
}

RunList read_runs(const std::vector<fs::path>& directories) {
  RunList list;
  std::set<fs::path> seen;
  for (const NamedDirectory& candidate : candidates(directories, list.left_out)) {
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(candidate.path, error)).second) continue;
    try {
      RunRecord run = read_run(candidate.path);
      run.name = candidate.name;
      list.runs.push_back(std::move(run));
    } catch (const Error& unusable) {
      list.left_out.push_back({candidate.name, unusable.what(), unusable.code()});
    }
  }
  return list;
}

}  // namespace eave
