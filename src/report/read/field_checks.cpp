#include "report/read/field_checks.h"

#include <array>
#include <string_view>

#include "base/options/number_text.h"
#include "report/record/metric.h"

namespace eave {
namespace {

constexpr double kMostWhole = 9007199254740991;  // 2^53 - 1: not every JSON reader holds larger whole numbers exactly
constexpr double kMostSeconds = 1e12;
constexpr double kOfRounding = 1e-6;  // allowance for numbers that are differences or quotients
constexpr auto kWhole = NumberKind::kWhole;
constexpr auto kReal = NumberKind::kReal;
constexpr auto kRealOrNull = NumberKind::kRealOrNull;

constexpr std::array kHeader = std::to_array<FieldRange>({
    {"format", kWhole, 1, kMostWhole},
    {"parameters", kWhole, 0, kMostWhole},
    {"train_samples", kWhole, 0, kMostWhole},
    {"test_samples", kWhole, 0, kMostWhole},
    {"test_labels", kWhole, 0, kMostWhole},
    {"tokens_per_sample", kWhole, 0, kMostWhole},
    {"classes", kWhole, 0, kMostWhole},
    {"ranks[].rank", kWhole, 0, kMostWhole},
    {"ranks[].class_histogram[]", kWhole, 0, kMostWhole},
});

// In the order of StepLine::Field.
constexpr std::array kStep = std::to_array<FieldRange>({
    {"rank", kWhole, 0, kMostWhole},
    {"step", kWhole, 1, kMostWhole},
    {"samples", kWhole, 0, kMostWhole},
    {"epoch", kReal, 0, kMostSeconds},
    {"loss", kRealOrNull, -kMostReal, kMostReal},
    {"learning_rate", kReal, 0, kMostReal},
    {"seconds", kReal, 0, kMostSeconds},
    {"computing", kReal, 0, kMostSeconds},
    {"exchanging", kReal, 0, kMostSeconds},
    {"waiting", kReal, 0, kMostSeconds},
    {"loading", kReal, 0, kMostSeconds},
    {"bytes", kWhole, 0, kMostWhole},
    {"gradient_norm", kRealOrNull, 0, kMostReal},
    {"nonfinite", kWhole, 0, kMostWhole},
});

constexpr std::array kEvaluation = std::to_array<FieldRange>({
    {"step", kWhole, 0, kMostWhole},
    {"samples", kWhole, 0, kMostWhole},
    {"epoch", kReal, 0, kMostSeconds},
    {"seconds", kReal, 0, kMostSeconds},
    {"evaluation_seconds", kReal, 0, kMostSeconds},
    {"center.loss", kRealOrNull, -kMostReal, kMostReal},
    {"center.accuracy", kReal, 0, 1},
    {"center.score", kReal, -kMostReal, kMostReal},
    {"mean_of_workers.loss", kRealOrNull, -kMostReal, kMostReal},
    {"mean_of_workers.accuracy", kReal, 0, 1},
    {"mean_of_workers.score", kReal, -kMostReal, kMostReal},
    {"first_worker.loss", kRealOrNull, -kMostReal, kMostReal},
    {"first_worker.accuracy", kReal, 0, 1},
    {"first_worker.score", kReal, -kMostReal, kMostReal},
    {"best_worker.loss", kRealOrNull, -kMostReal, kMostReal},
    {"best_worker.accuracy", kReal, 0, 1},
    {"best_worker.score", kReal, -kMostReal, kMostReal},
    {"best_worker.rank", kWhole, 0, kMostWhole},
    {"consensus_distance.min", kReal, 0, kMostReal},
    {"consensus_distance.mean", kReal, 0, kMostReal},
    {"consensus_distance.max", kReal, 0, kMostReal},
    {"ema.loss", kRealOrNull, -kMostReal, kMostReal},
    {"ema.accuracy", kReal, 0, 1},
    {"ema.score", kReal, -kMostReal, kMostReal},
    {"validation.loss", kRealOrNull, -kMostReal, kMostReal},
    {"validation.accuracy", kReal, 0, 1},
    {"validation.score", kReal, -kMostReal, kMostReal},
    {"bits_per_byte", kReal, 0, kMostReal},
});

// The ranges of its `evaluation` are in a table of their own.
constexpr std::array kSummary = std::to_array<FieldRange>({
    {"format", kWhole, 1, kMostWhole},
    {"test_accuracy", kReal, 0, 1},
    {"test_score", kReal, -kMostReal, kMostReal},
    {"seconds", kReal, 0, kMostSeconds},
    {"samples_per_second", kReal, 0, 1e15},
    {"bytes_per_rank", kWhole, 0, kMostWhole},
    {"waiting_share", kReal, 0, 1},
    {"ranks", kWhole, 1, kMostWhole},
    {"workers", kWhole, 1, kMostWhole},
    {"steps", kWhole, 0, kMostWhole},
    {"epochs", kReal, 0, kMostSeconds},
    {"samples", kWhole, 0, kMostWhole},
    {"tokens", kWhole, 0, kMostWhole},
    {"tokens_per_second", kReal, 0, kMostReal},
    {"flops_per_core", kReal, 0, kMostReal},
    {"share_of_peak", kReal, 0, kMostReal},
    {"peak_memory_bytes", kWhole, 0, kMostWhole},
    {"exchanges", kWhole, 0, kMostWhole},
    {"staleness[]", kWhole, 0, kMostWhole},
    {"checkpoints", kWhole, 0, kMostWhole},
    {"checkpoint_seconds", kReal, 0, kMostSeconds},
    {"times_of_ranks[].rank", kWhole, 0, kMostWhole},
    {"times_of_ranks[].computing", kReal, 0, kMostSeconds},
    {"times_of_ranks[].loading", kReal, 0, kMostSeconds},
    {"times_of_ranks[].exchanging", kReal, 0, kMostSeconds},
    {"times_of_ranks[].waiting", kReal, 0, kMostSeconds},
    {"times_of_ranks[].waiting_for_ranks", kReal, 0, kMostSeconds},
    {"times_of_ranks[].times_waited_for", kWhole, 0, kMostWhole},
    {"times_of_ranks[].seconds_waited_for", kReal, 0, kMostSeconds},
    {"rollbacks", kWhole, 0, kMostWhole},
    {"repaired", kWhole, 0, kMostWhole},
    {"nonfinite", kWhole, 0, kMostWhole},
    {"overlap", kReal, 0, 1},
});

constexpr std::array kFailure = std::to_array<FieldRange>({{"code", kWhole, 1, 255}});
constexpr std::array kLost = std::to_array<FieldRange>({{"lines", kWhole, 1, kMostWhole}});

[[noreturn]] void refuse(const FieldRange& range, const std::string& value) {
  throw OutOfRange(std::string(range.field) + " is " + value + ", but must be " +
                   (range.kind == kWhole ? "a whole number" : "a number") + " from " + number_text(range.least) +
                   " to " + (range.most == kMostWhole ? "2^53 - 1" : number_text(range.most)));
}

void check_value(const FieldRange& range, const Json& value) {
  if (value.is_null() && range.kind == kRealOrNull) return;
  if (!value.is_number()) refuse(range, value.is_string() ? "a text" : value.is_array() ? "a list" : value.type_name());
  check_range(range, value.get<double>());
}

// Checks the field `path` of `value`: one number, or one in each element of a list.
void check_at(const FieldRange& range, std::string_view path, const Json& value) {
  if (path.empty()) return check_value(range, value);
  if (path.starts_with("[]")) {
    if (!value.is_array()) return;
    path.remove_prefix(path.starts_with("[].") ? 3 : 2);
    for (const Json& element : value) check_at(range, path, element);
    return;
  }
  const std::string name(path.substr(0, path.find_first_of(".[")));
  path.remove_prefix(name.size());
  if (path.starts_with(".")) path.remove_prefix(1);
  if (!value.is_object()) return;
  if (const auto found = value.find(name); found != value.end()) check_at(range, path, *found);
}

// Formats a number with six digits, or with all digits if six would make two different numbers look equal.
std::string digits(double value, double other) {
  const std::string text = number_text(value);
  return value == other || text != number_text(other) ? text : shortest_text(value);
}

[[noreturn]] void contradict(const char* field, double value, const char* relation, double other, const char* why) {
  throw Contradiction(std::string(field) + " is " + digits(value, other) + ", but must be " + relation +
                      digits(other, value) + ", " + why);
}

void require_times(const RankTimes& times, double seconds) {
  constexpr const char* kOfSummary = "the summary's seconds";
  const double slack = slack_of(seconds);
  require_at_most("times_of_ranks[].computing", times.computing, seconds, kOfSummary, slack);
  require_at_most("times_of_ranks[].loading", times.loading, seconds, kOfSummary, slack);
  require_at_most("times_of_ranks[].waiting", times.waiting, seconds, kOfSummary, slack);
  require_at_most("times_of_ranks[]: computing + loading + waiting", times.computing + times.loading + times.waiting,
                  seconds, kOfSummary, slack);
  require_at_most("times_of_ranks[].waiting_for_ranks", times.waiting_for_ranks, times.waiting,
                  "the same row's waiting", slack);
}

}  // namespace

std::span<const FieldRange> ranges_of(std::string_view record) {
  if (record == "header") return kHeader;
  if (record == "step") return kStep;
  if (record == "evaluation") return kEvaluation;
  if (record == "summary.json" || record == "end") return kSummary;
  if (record == "failure") return kFailure;
  if (record == "lost") return kLost;
  return {};
}

void check_range(const FieldRange& range, double value) {
  if (std::isnan(value) && range.kind == kRealOrNull) return;
  const double slack = range.kind == kWhole ? 0 : kOfRounding;
  const bool is_whole = range.kind != kWhole || std::trunc(value) == value;
  if (!is_whole || !(value >= range.least - slack && value <= range.most + slack)) refuse(range, number_text(value));
}

void check_ranges(const Json& object, const std::string& record) {
  for (const FieldRange& range : ranges_of(record)) check_at(range, range.field, object);
}

void require_at_most(const char* field, double value, double limit, const char* why, double slack) {
  if (value > limit + slack) contradict(field, value, "at most ", limit, why);
}

void require_at_least(const char* field, double value, double limit, const char* why, double slack) {
  if (value < limit - slack) contradict(field, value, "at least ", limit, why);
}

void require_equal(const char* field, double value, double other, const char* why, double slack) {
  if (std::abs(value - other) > slack) contradict(field, value, "", other, why);
}

void require_same(const char* field, const std::string& text, const std::string& other, const char* why) {
  if (text == other) return;
  const auto quoted = [](const std::string& word) { return "'" + word.substr(0, 80) + "'"; };
  throw Contradiction(std::string(field) + " is " + quoted(text) + ", but must be " + quoted(other) + ", " + why);
}

std::string difference(const Json& one, const Json& other, const std::string& path) {
  for (const auto& [name, value] : one.items()) {
    const auto found = other.find(name);
    if (found == other.end()) return path + name + " is there, but must not be";
    if (value.dump() == found->dump()) continue;
    if (value.is_object() && found->is_object()) return difference(value, *found, path + name + ".");
    return path + name + " is " + value.dump() + ", but must be " + found->dump();
  }
  for (const auto& [name, unused] : other.items()) {
    if (!one.contains(name)) return path + name + " is missing";
  }
  return "";
}

void require_consistent(const EvaluationRecord& evaluation) {
  const double slack = slack_of(evaluation.distance_max);
  require_at_most("consensus_distance.min", evaluation.distance_min, evaluation.distance_mean,
                  "consensus_distance.mean", slack);
  require_at_most("consensus_distance.mean", evaluation.distance_mean, evaluation.distance_max,
                  "consensus_distance.max", slack);
  if (!evaluation.workers) return;
  const double best = evaluation.workers->best.accuracy, first = evaluation.workers->first.accuracy;
  if (is_accuracy(evaluation.metric)) {
    require_at_least("best_worker.accuracy", best, first, "first_worker.accuracy");
  } else if (evaluation.metric.lower_is_better) {
    require_at_most("best_worker.score", best, first, "first_worker.score");
  } else {
    require_at_least("best_worker.score", best, first, "first_worker.score");
  }
}

void require_consistent(const RunSummary& summary, double test_accuracy) {
  const EvaluationRecord& last = summary.evaluation;
  if (is_accuracy(last.metric)) {
    require_equal("test_accuracy", test_accuracy, last.center.accuracy, "evaluation.center.accuracy");
  } else {
    require_equal("test_score", test_accuracy, last.center.accuracy, "evaluation.center.score");
  }
  require_equal("steps", summary.steps, last.step, "evaluation.step");
  require_equal("samples", summary.samples, last.samples, "evaluation.samples");
  require_equal("epochs", summary.epochs, last.epoch, "evaluation.epoch", slack_of(last.epoch));
  require_at_least("seconds", summary.seconds, last.seconds, "evaluation.seconds", slack_of(last.seconds));
  const double samples = summary.samples_per_second * summary.seconds;
  require_equal("samples_per_second * seconds", samples, summary.samples, "samples", 1e-6 * summary.samples);
  require_at_most("workers", summary.workers, summary.ranks, "ranks");
  if (last.workers)
    require_at_most("evaluation.best_worker.rank", last.workers->best_rank, summary.workers - 1,
                    "the last rank that trains");
  require_at_most("rows of times_of_ranks", summary.times_of_ranks.size(), summary.workers, "workers");
  for (const RankTimes& times : summary.times_of_ranks) require_times(times, summary.seconds);
}

}  // namespace eave
