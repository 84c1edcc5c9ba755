#include "report/plan/plan_run.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/formats/strict_json.h"
#include "base/options/quantities.h"
#include "eave/check.h"
#include "report/read/line_reader.h"
#include "report/read/run_reader.h"
#include "report/read/step_line.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRecords = std::size_t{1} << 22;  // of all ranks together
constexpr std::size_t kFewestSteps = 10;                    // of each rank

// Values of one step; means if a line covers several steps.
struct Record {
  double busy = 0, exchanging = 0, waiting = 0, bytes = 0;
};
using Records = std::vector<std::vector<Record>>;  // by rank

struct RawRun {
  Records records;
  double parameters = 0, samples = 0, steps = 0;  // samples of all ranks in `steps` steps
  // How many records cover each number of steps. Lost lines make that number larger.
  std::map<std::int64_t, int> records_of;
  int hosts = 0;
};

// Reads the steps. The file has been read and checked once as a run, so it is known to be one.
class RawReading {
 public:
  explicit RawReading(const fs::path& path) : lines_(path) {}

  RawRun read() {
    for (std::string_view line; lines_.next(line);) {
      if (const std::optional<StepLine> step = step_line(line)) {
        add(*step);
        continue;
      }
      const Json object = parse_json_or_discard(line);
      const std::string type = object.is_object() ? object.value("type", "") : "";
      if (type == "header") begin(object);
      if (type == "step" && lines_.is_whole()) add(step_line(object));
      if (type == "evaluation") evaluated_ = {object.value("samples", 0.0), object.value("step", 0.0)};
    }
    count_evaluated();
    return std::move(run_);
  }

 private:
  // Each resume adds a header: only the records after the last one count.
  void begin(const Json& header) {
    is_resumed_ = !run_.records.empty();
    run_ = {};
    run_.parameters = header.value("parameters", 0.0);
    std::set<std::string> hosts;
    for (const Json& rank : header.at("ranks")) hosts.insert(rank.value("host", ""));
    run_.hosts = static_cast<int>(hosts.size());
    run_.records.resize(header.at("ranks").size());
    last_step_.assign(run_.records.size(), -1);
    evaluated_ = {};
  }

  void add(const StepLine& line) {
    const auto rank = static_cast<std::size_t>(line[StepLine::kRank]);
    if (rank >= run_.records.size()) return;
    const double before = std::exchange(last_step_[rank], line[StepLine::kStep]);
    if (rank == 0) count(line, before);
    if (before < 0 && is_resumed_) return;  // the number of steps it covers is unknown
    const double steps = line[StepLine::kStep] - std::max(before, 0.0);
    const auto of = [&](StepLine::Field field) { return line[field] / steps; };
    const Record record{of(StepLine::kComputing) + of(StepLine::kLoading), of(StepLine::kExchanging),
                        of(StepLine::kWaiting), of(StepLine::kBytes)};
    const bool is_one = steps >= 1 && steps < 1e9 && record.busy >= 0 && record.exchanging >= 0 &&
                        record.waiting >= 0 && record.bytes >= 0;  // also false for NaN
    if (!is_one || run_.records[rank].size() >= kMostRecords / run_.records.size()) return;
    ++run_.records_of[static_cast<std::int64_t>(steps)];
    run_.records[rank].push_back(record);
  }

  void count(const StepLine& line, double before) {
    if (before < 0) {
      samples_before_ = is_resumed_ ? line[StepLine::kSamples] : 0;
      step_before_ = is_resumed_ ? line[StepLine::kStep] : 0;
    }
    run_.samples = line[StepLine::kSamples] - samples_before_;
    run_.steps = line[StepLine::kStep] - step_before_;
  }

  // Rank 0's lines may lack samples that other ranks have seen since the last evaluation, which counts those of all.
  void count_evaluated() {
    const double samples = evaluated_.samples - samples_before_, steps = evaluated_.steps - step_before_;
    if (!(samples > 0 && steps > 0)) return;
    run_.samples = samples;
    run_.steps = steps;
  }

  LineReader lines_;
  RawRun run_;
  struct {
    double samples = 0, steps = 0;
  } evaluated_;  // at the last evaluation after the last header
  bool is_resumed_ = false;
  std::vector<double> last_step_;                // by rank
  double samples_before_ = 0, step_before_ = 0;  // before the steps that count
};

void drop_beginnings(Records& records) {
  for (std::vector<Record>& of_rank : records) {
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(10, of_rank.size() / 10));
    of_rank.erase(of_rank.begin(), of_rank.begin() + count);
  }
  std::erase_if(records, [](const auto& of_rank) { return of_rank.empty(); });  // ranks that only keep a center
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// No sum over all ranks carries less. Steps also send messages of some bytes, by which ranks agree when to stop. int8
// sends a quarter of float32's bytes, and top-k 6 bytes of each value that it keeps.
double least_sum_bytes(const PlanRun& run) {
  constexpr double kLeastShare = 0.1;
  const double kept = number_in(run.settings, "top-k-share");
  return run.basis.parameter_bytes * (kept > 0 ? std::min(kept, kLeastShare) : kLeastShare);
}

bool is_compressed(const std::map<std::string, std::string>& settings) {
  const std::string codec = setting_in(settings, "compression");
  return !codec.empty() && codec != "none";
}

// The usual number of records from one to the next; 0 if there are not two.
std::int64_t usual_gap(const std::vector<std::size_t>& records) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < records.size(); ++i) gaps.push_back(static_cast<double>(records[i] - records[i - 1]));
  return gaps.empty() ? 0 : static_cast<std::int64_t>(median(gaps));
}

// If a record covers several steps, only the mean of the bytes tells after how many steps there is a sum. The last
// record is left out, because finish() may send too.
void measure_period(const RawRun& raw, PlanRun& run) {
  if (run.steps_per_record == 1 || !sums_over_all(run.pattern) || run.workers < 2) return;
  double most = 0;
  for (const auto& of_rank : raw.records) {
    double bytes = 0;
    for (std::size_t i = 0; i + 1 < of_rank.size(); ++i) bytes += of_rank[i].bytes;
    most = std::max(most, bytes / static_cast<double>(of_rank.size() - 1));
  }
  const double of_sum = 2.0 * (run.workers - 1) / run.workers * run.basis.sum_bytes;
  if (most > 0) run.steps_per_sum = std::clamp<std::int64_t>(std::llround(of_sum / most), 1, 1 << 20);
}

// Measures the bytes and the rate of a sum from the steps that exchanged values. The rank with the shortest exchange
// arrived last, so it waited for no other rank.
void measure_sums(const RawRun& raw, PlanRun& run) {
  const bool is_every_step = run.pattern == ExchangePattern::kGradientSums;
  if (!sums_over_all(run.pattern) || run.workers < 2) return;
  if (!is_every_step && run.steps_per_record > 1) return;  // a line may hold a fraction of an exchange
  std::size_t count = raw.records.front().size();
  for (const auto& of_rank : raw.records) count = std::min(count, of_rank.size());
  const double of_sum = run.workers / (2.0 * (run.workers - 1));  // a sum's bytes, divided by those that a rank sends
  std::vector<double> bytes, rates;
  std::vector<std::size_t> with_sum;
  for (std::size_t i = 0; i < count; ++i) {
    double sent = 0, shortest = raw.records.front()[i].exchanging;
    for (const auto& of_rank : raw.records) {
      sent = std::max(sent, of_rank[i].bytes);
      shortest = std::min(shortest, of_rank[i].exchanging);
    }
    if (sent * of_sum < least_sum_bytes(run)) continue;
    bytes.push_back(sent * of_sum);
    with_sum.push_back(i);
    if (shortest > 0 && is_every_step) rates.push_back(sent / shortest);
  }
  if (bytes.empty()) return;
  run.basis.sum_bytes = median(bytes);
  run.is_sum_measured = true;
  run.basis.is_sum_compressed = is_compressed(run.settings);
  if (run.steps_per_record == 1) run.steps_per_sum = usual_gap(with_sum);
  if (!rates.empty()) run.exchange_bytes_per_second = median(rates);
}

// Measures behind which share of a step gradients were exchanged. If almost no waiting was left, a longer exchange
// could have been hidden too, so the share is only a lower bound. It then replaces the default of a half only if it is
// larger.
void measure_hiding(const RawRun& raw, PlanRun& run) {
  if (run.pattern != ExchangePattern::kGradientSums || run.workers < 2) return;
  double busy = 0, exchanging = 0, waiting = 0;
  for (const auto& of_rank : raw.records) {
    for (const Record& record : of_rank) {
      busy += record.busy;
      exchanging += record.exchanging;
      waiting += record.waiting;
    }
  }
  if (!(busy > 0) || !(exchanging > 0)) return;
  const double share = std::clamp((exchanging - waiting) / busy, 0.0, 1.0);
  run.is_hidden_measured = waiting > exchanging / 4 || share > run.basis.hidden_share;
  if (run.is_hidden_measured) run.basis.hidden_share = share;
}

// The number of steps that most records cover.
std::int64_t usual_steps_of(const RawRun& raw) {
  const auto most = std::ranges::max_element(raw.records_of, {}, [](const auto& each) { return each.second; });
  return most == raw.records_of.end() ? 1 : most->first;
}

bool is_too_short(const Records& records) {
  return records.empty() ||
         std::ranges::any_of(records, [](const auto& of_rank) { return of_rank.size() < kFewestSteps; });
}

// A size in a setting, such as 64KiB; 0 if it is not set or not a size.
double bytes_in(const std::map<std::string, std::string>& settings, const std::string& name) {
  return static_cast<double>(read_bytes(setting_in(settings, name)).value.value_or(0));
}

PlanRun plan_run_of(const RunRecord& record, const RawRun& raw, const PatternOf& pattern_of) {
  PlanRun run;
  run.settings = record.settings;
  run.tokens_per_sample = record.tokens_per_sample;
  run.communicator = setting_in(record.settings, "communicator");
  run.pattern = pattern_of(run.communicator);
  run.ranks = record.ranks;
  run.workers = static_cast<int>(raw.records.size());
  run.hosts = raw.hosts;
  run.steps_per_record = usual_steps_of(raw);
  for (const auto& of_rank : raw.records) {
    std::vector<double>& seconds = run.basis.step_seconds.emplace_back();
    for (const Record& each : of_rank) seconds.push_back(std::max(each.busy, 1e-9));
    run.steps += static_cast<std::int64_t>(of_rank.size()) * run.steps_per_record;
  }
  run.basis.samples_per_step = raw.samples / raw.steps / run.workers;
  run.basis.parameter_bytes = run.basis.sum_bytes = 4 * raw.parameters;
  run.basis.bucket_bytes = bytes_in(record.settings, "bucket-bytes");
  measure_sums(raw, run);
  measure_period(raw, run);
  measure_hiding(raw, run);
  return run;
}

PlanRun plan_run_of(const RunRecord& record, const fs::path& metrics, const PatternOf& pattern_of) {
  RawRun raw = RawReading(metrics).read();
  drop_beginnings(raw.records);
  if (is_too_short(raw.records)) {
    const std::string every = record.settings.contains("program") ? "every of eave.Run" : "--log-every";
    throw Error(ExitCode::kBadData, "metrics.jsonl has too few steps to plan with: train for 30 or more, and let " +
                                        every + " write 20 lines of each rank");
  }
  if (!(raw.samples > 0 && raw.steps > 0 && raw.parameters > 0))
    throw Error(ExitCode::kBadData, "metrics.jsonl has no samples or no parameters; give a run that trained");
  return plan_run_of(record, raw, pattern_of);
}

}  // namespace

PlanRun read_plan_metrics(const fs::path& path, const PatternOf& pattern_of) {
  return plan_run_of(read_metrics(path), path, pattern_of);
}

PlanRun read_plan_run(const fs::path& directory, const PatternOf& pattern_of) {
  if (const std::string why = why_no_single_run(directory); !why.empty())
    throw Error(ExitCode::kInputMissing, directory.string() + ": " + why);
  try {
    return plan_run_of(read_run(directory), directory / "metrics.jsonl", pattern_of);
  } catch (const Error& error) {
    throw error_of_run(directory, error);
  }
}

std::int64_t global_tau_of(const std::map<std::string, std::string>& settings, std::int64_t tau) {
  const double of_run = number_in(settings, "global-tau");
  const bool fits = of_run >= static_cast<double>(tau) && of_run <= 1e9 && std::fmod(of_run, tau) == 0;
  return fits ? static_cast<std::int64_t>(of_run) : 10 * tau;
}

}  // namespace eave
