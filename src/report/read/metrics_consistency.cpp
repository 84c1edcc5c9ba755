#include "report/read/metrics_consistency.h"

#include <algorithm>
#include <array>

#include "base/options/quantities.h"
#include "report/read/field_checks.h"
#include "report/read/metrics_parser.h"
#include "report/record/config.h"
#include "report/record/json.h"

namespace eave {
namespace {

// Exchanges run in the background, so one may last through an evaluation or a checkpoint. Their seconds are not seconds
// of training.
constexpr double kExchangeSlack = 3600;

// Settings that no --resume may change.
constexpr std::array kKept = {"batch",    "batch-means", "communicator", "data", "lr", "model",
                              "momentum", "optimizer",   "sampling",     "seed", "tau"};

double batch_of(const HeaderLine& header) {
  const bool is_total = setting_in(header.config, "batch-means") == "total";
  return number_in(header.config, "batch") * (is_total ? 1 : header.workers());
}

void require_ranks(const HeaderLine& header) {
  if (header.ranks.empty()) throw Contradiction("ranks is an empty list, but must name each rank");
  for (std::size_t place = 0; place < header.ranks.size(); ++place) {
    require_equal("ranks[].rank", header.ranks[place].rank, place, "its place in the list");
  }
  if (header.workers() == 0) throw Contradiction("ranks[].trains is false for all ranks, but must be true for one");
}

void require_config(const HeaderLine& header) {
  const auto require_setting = [&](const char* name, const std::string& text) {
    if (header.config.contains(name)) require_same(name, text, header.config.at(name), "as in config");
  };
  require_setting("communicator", header.communicator);
  require_setting("model", header.model);
  const double ranks = number_in(header.config, "ranks");
  if (ranks > 0 && setting_in(header.config, "transport") == "threads")
    require_equal("the number of ranks", header.ranks.size(), ranks, "config.ranks");
}

void require_metric(const Metric& metric, const Metric& other, const char* why) {
  require_same("metric.name", metric.name, other.name, why);
  const auto direction = [](const Metric& each) { return each.lower_is_better ? "lower" : "higher"; };
  require_same("metric.better", direction(metric), direction(other), why);
}

// A resumed run must still be the same run.
void require_same_run(const HeaderLine& header, const HeaderLine& before) {
  constexpr const char* kBefore = "as in the header before";
  require_same("communicator", header.communicator, before.communicator, kBefore);
  require_same("model", header.model, before.model, kBefore);
  require_metric(header.metric, before.metric, kBefore);
  require_equal("parameters", header.parameters, before.parameters, kBefore);
  require_equal("classes", header.classes, before.classes, kBefore);
  if (const std::string other = differing_setting(header.config, before.config, false); !other.empty())
    throw Contradiction("config: " + other + ", " + kBefore);
  if (setting_in(header.config, "resume") == "elastic") return;
  require_equal("the number of ranks", header.ranks.size(), before.ranks.size(),
                "as in the header before, as config.resume is not elastic");
}

}  // namespace

int HeaderLine::workers() const { return static_cast<int>(std::ranges::count_if(ranks, &HeaderRank::trains)); }

std::string differing_setting(const std::map<std::string, std::string>& config,
                              const std::map<std::string, std::string>& other, bool is_whole) {
  std::map<std::string, std::string> names = config;
  names.insert(other.begin(), other.end());
  for (const auto& [name, unused] : names) {
    const std::string here = setting_in(config, name), there = setting_in(other, name);
    if (!is_whole && std::ranges::find(kKept, name) == kKept.end()) continue;
    if (here == there || (!is_whole && is_same_value(here, there))) continue;
    return name + " is '" + here.substr(0, 80) + "', but must be '" + there.substr(0, 80) + "'";
  }
  return "";
}

void MetricsConsistency::take(const HeaderLine& header, std::size_t) {
  require_ranks(header);
  require_config(header);
  const bool begins_anew = !header_ || setting_in(header.config, "resume") == "elastic";
  if (header_) require_same_run(header, *header_);
  if (begins_anew) {
    ranks_.assign(header.ranks.size(), {});
    evaluation_.reset();
    evaluated_step_ = evaluated_seconds_ = 0;
  }
  for (OfRank& rank : ranks_) rank.computing = rank.loading = rank.exchanging = rank.waiting = 0;
  batch_ = batch_of(header);
  header_ = header;
  ended_ = 0;
}

// Requires that the run has not ended before this line. MetricsParser refuses lines before the first header.
void MetricsConsistency::require_running() const {
  if (ended_ == 0) return;
  throw Contradiction("it stands behind the end of the run in line " + std::to_string(ended_) +
                      ", without a header between");
}

void MetricsConsistency::require_samples(double step, double samples, double epoch) const {
  if (batch_ > 0) require_at_most("samples", samples, step * batch_, "the batches of all ranks in so many steps");
  const auto size = static_cast<double>(header_->train_samples);
  if (size > 0) require_equal("epoch", epoch, samples / size, "samples / train_samples", slack_of(epoch));
}

// Checks the line's times against the time since this rank's line before.
void MetricsConsistency::require_times(const StepLine& line, const OfRank& before) const {
  constexpr const char* kWholeTime = "the seconds since this rank's line before";
  const double seconds = line[StepLine::kSeconds], whole = seconds - before.seconds, slack = slack_of(seconds);
  const double computing = line[StepLine::kComputing], loading = line[StepLine::kLoading];
  const double waiting = line[StepLine::kWaiting];
  require_at_most("computing", computing, whole, kWholeTime, slack);
  require_at_most("loading", loading, whole, kWholeTime, slack);
  require_at_most("waiting", waiting, whole, kWholeTime, slack);
  require_at_most("computing + loading + waiting", computing + loading + waiting, whole, kWholeTime, slack);
  require_at_most("exchanging", line[StepLine::kExchanging], 2 * (seconds + evaluation_seconds_) + kExchangeSlack,
                  "twice the seconds of training and evaluations so far, and an hour");
}

void MetricsConsistency::take(const StepLine& line, std::size_t) {
  require_running();
  const double rank = line[StepLine::kRank], step = line[StepLine::kStep], seconds = line[StepLine::kSeconds];
  require_at_most("rank", rank, static_cast<double>(ranks_.size()) - 1, "the last rank in the header");
  const auto place = static_cast<std::size_t>(rank);
  if (!header_->ranks[place].trains) throw Contradiction("rank is " + std::to_string(place) + ", which does not train");
  OfRank& of_rank = ranks_[place];
  require_at_least("step", step, of_rank.step + 1, "above the step of this rank's line before");
  require_at_least("step", step, evaluated_step_ + 1, "above the step of the evaluation before");
  require_at_least("samples", line[StepLine::kSamples], of_rank.samples, "as in this rank's line before");
  require_at_least("seconds", seconds, of_rank.seconds, "as in this rank's line before");
  if (rank == 0) require_at_least("seconds", seconds, evaluated_seconds_, "as in the evaluation before");
  require_samples(step, line[StepLine::kSamples], line[StepLine::kEpoch]);
  require_times(line, of_rank);
  of_rank.step = step;
  of_rank.samples = line[StepLine::kSamples];
  of_rank.seconds = seconds;
  of_rank.bytes += line[StepLine::kBytes];
  of_rank.computing += line[StepLine::kComputing];
  of_rank.loading += line[StepLine::kLoading];
  of_rank.exchanging += line[StepLine::kExchanging];
  of_rank.waiting += line[StepLine::kWaiting];
}

void MetricsConsistency::take(const EvaluationRecord& evaluation, std::size_t) {
  require_running();
  require_metric(evaluation.metric, header_->metric, "as in the header");
  const auto step = static_cast<double>(evaluation.step), samples = static_cast<double>(evaluation.samples);
  require_at_least("step", step, evaluated_step_, "as in the evaluation before");
  for (const OfRank& rank : ranks_) {
    require_at_least("step", step, rank.step, "as in a line of a step before");
    if (step == rank.step && step > 0) require_equal("samples", samples, rank.samples, "as in the line of that step");
  }
  require_samples(step, samples, evaluation.epoch);
  require_at_least("seconds", evaluation.seconds, std::max(evaluated_seconds_, ranks_.front().seconds),
                   "as in rank 0's line before", slack_of(evaluation.seconds));
  if (evaluation.workers)
    require_at_most("best_worker.rank", evaluation.workers->best_rank, header_->workers() - 1,
                    "the last rank that trains");
  evaluated_step_ = step;
  evaluated_seconds_ = evaluation.seconds;
  evaluation_seconds_ += evaluation.evaluation_seconds;
  evaluation_ = evaluation;
}

void MetricsConsistency::require_header(const RunSummary& end) const {
  require_same("communicator", end.communicator, header_->communicator, "as in the header");
  require_same("model", end.model, header_->model, "as in the header");
  require_metric(end.evaluation.metric, header_->metric, "as in the header");
  if (header_->config.contains("data"))
    require_same("data", end.data, header_->config.at("data"), "as in the header's config");
  require_equal("ranks", end.ranks, header_->ranks.size(), "the ranks in the header");
  require_equal("workers", end.workers, header_->workers(), "the ranks in the header that train");
}

void MetricsConsistency::require_steps(const RunSummary& end) const {
  require_samples(end.steps, end.samples, end.epochs);
  const double slack = slack_of(end.seconds);
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    const OfRank& rank = ranks_[place];
    require_at_least("steps", end.steps, rank.step, "as in a line of a step");
    require_at_least("seconds", end.seconds, rank.seconds, "as in a line of a step", slack);
    require_at_least("bytes_per_rank", end.bytes_per_rank, rank.bytes, "the sum of a rank's lines of steps");
    if (place >= end.times_of_ranks.size()) continue;
    constexpr const char* kSum = "the sum of that rank's lines of steps";
    const RankTimes& times = end.times_of_ranks[place];
    require_at_least("times_of_ranks[].computing", times.computing, rank.computing, kSum, slack);
    require_at_least("times_of_ranks[].loading", times.loading, rank.loading, kSum, slack);
    require_at_least("times_of_ranks[].exchanging", times.exchanging, rank.exchanging, kSum, slack);
    require_at_least("times_of_ranks[].waiting", times.waiting, rank.waiting, kSum, slack);
    require_at_most("times_of_ranks[].exchanging", times.exchanging,
                    2 * (end.seconds + evaluation_seconds_ + end.evaluation.evaluation_seconds) + kExchangeSlack,
                    "twice the seconds of training and evaluations, and an hour");
  }
}

// The line of the last evaluation may be missing. If it exists, the end must repeat its values.
void MetricsConsistency::require_evaluation(const RunSummary& end) const {
  if (!evaluation_) return;
  require_at_least("evaluation.step", end.evaluation.step, evaluation_->step, "as in the line of the last evaluation");
  if (end.evaluation.step != evaluation_->step) return;
  const std::string other = difference(to_json(end.evaluation), to_json(*evaluation_), "evaluation.");
  if (!other.empty()) throw Contradiction(other + ", as in the line of the last evaluation");
}

void MetricsConsistency::take(const RunSummary& end, std::size_t number) {
  require_running();
  require_header(end);
  require_steps(end);
  require_evaluation(end);
  ended_ = number;
}

void MetricsConsistency::take(const FailureLine&, std::size_t number) {
  require_running();
  ended_ = number;
}

void MetricsConsistency::take(const LostLines&, std::size_t) { require_running(); }
void MetricsConsistency::take(const OtherLine&, std::size_t) { require_running(); }

}  // namespace eave
