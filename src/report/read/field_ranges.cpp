#include "report/read/field_ranges.h"

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/options/number_text.h"

namespace eave {
namespace {

constexpr double kMostWhole = 9007199254740991;  // 2^53 - 1: not every JSON reader holds larger whole numbers exactly
constexpr double kMostSeconds = 1e12;
constexpr double kMostReal = 1e39;    // above any float32, while sums and squares of such numbers stay finite
constexpr double kOfRounding = 1e-6;  // allowance for numbers that are differences or quotients
constexpr auto kWhole = NumberKind::kWhole;
constexpr auto kReal = NumberKind::kReal;
constexpr auto kRealOrNull = NumberKind::kRealOrNull;

constexpr std::array kHeader = std::to_array<FieldRange>({
    {"format", kWhole, 1, kMostWhole},
    {"parameters", kWhole, 0, kMostWhole},
    {"train_samples", kWhole, 0, kMostWhole},
    {"test_samples", kWhole, 0, kMostWhole},
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
    {"mean_of_workers.loss", kRealOrNull, -kMostReal, kMostReal},
    {"mean_of_workers.accuracy", kReal, 0, 1},
    {"first_worker.loss", kRealOrNull, -kMostReal, kMostReal},
    {"first_worker.accuracy", kReal, 0, 1},
    {"best_worker.loss", kRealOrNull, -kMostReal, kMostReal},
    {"best_worker.accuracy", kReal, 0, 1},
    {"best_worker.rank", kWhole, 0, kMostWhole},
    {"consensus_distance.min", kReal, 0, kMostReal},
    {"consensus_distance.mean", kReal, 0, kMostReal},
    {"consensus_distance.max", kReal, 0, kMostReal},
    {"validation.loss", kRealOrNull, -kMostReal, kMostReal},
    {"validation.accuracy", kReal, 0, 1},
});

// The ranges of its `evaluation` are in a table of their own.
constexpr std::array kSummary = std::to_array<FieldRange>({
    {"format", kWhole, 1, kMostWhole},
    {"test_accuracy", kReal, 0, 1},
    {"seconds", kReal, 0, kMostSeconds},
    {"samples_per_second", kReal, 0, 1e15},
    {"bytes_per_rank", kWhole, 0, kMostWhole},
    {"waiting_share", kReal, 0, 1},
    {"ranks", kWhole, 1, kMostWhole},
    {"workers", kWhole, 1, kMostWhole},
    {"steps", kWhole, 0, kMostWhole},
    {"epochs", kReal, 0, kMostSeconds},
    {"samples", kWhole, 0, kMostWhole},
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

}  // namespace

std::span<const FieldRange> ranges_of(const std::string& record) {
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

}  // namespace eave
