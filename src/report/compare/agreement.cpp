#include "report/compare/agreement.h"

#include <array>
#include <charconv>
#include <string>

#include "base/options/number_text.h"

namespace eave {
namespace {

// Formats a number with six digits, or with all digits if six would make two different numbers look equal.
std::string digits(double value, double other) {
  std::string text = number_text(value);
  if (value == other || text != number_text(other)) return text;
  std::array<char, 32> all{};
  const auto result = std::to_chars(all.data(), all.data() + all.size(), value);
  return {all.data(), result.ptr};
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

void require_agreement(const EvaluationRecord& evaluation) {
  const double slack = slack_of(evaluation.distance_max);
  require_at_most("consensus_distance.min", evaluation.distance_min, evaluation.distance_mean,
                  "consensus_distance.mean", slack);
  require_at_most("consensus_distance.mean", evaluation.distance_mean, evaluation.distance_max,
                  "consensus_distance.max", slack);
  if (!evaluation.workers) return;
  require_at_least("best_worker.accuracy", evaluation.workers->best.accuracy, evaluation.workers->first.accuracy,
                   "first_worker.accuracy");
}

void require_agreement(const RunSummary& summary, double test_accuracy) {
  const EvaluationRecord& last = summary.evaluation;
  require_equal("test_accuracy", test_accuracy, last.center.accuracy, "evaluation.center.accuracy");
  require_equal("steps", static_cast<double>(summary.steps), static_cast<double>(last.step), "evaluation.step");
  require_equal("samples", static_cast<double>(summary.samples), static_cast<double>(last.samples),
                "evaluation.samples");
  require_equal("epochs", summary.epochs, last.epoch, "evaluation.epoch", slack_of(last.epoch));
  require_at_least("seconds", summary.seconds, last.seconds, "evaluation.seconds", slack_of(last.seconds));
  const double samples = summary.samples_per_second * summary.seconds;
  require_equal("samples_per_second * seconds", samples, static_cast<double>(summary.samples), "samples",
                1e-6 * static_cast<double>(summary.samples));
  require_at_most("workers", summary.workers, summary.ranks, "ranks");
  if (last.workers)
    require_at_most("evaluation.best_worker.rank", last.workers->best_rank, summary.workers - 1,
                    "the last rank that trains");
  require_at_most("rows of times_of_ranks", static_cast<double>(summary.times_of_ranks.size()), summary.workers,
                  "workers");
  for (const RankTimes& times : summary.times_of_ranks) require_times(times, summary.seconds);
}

}  // namespace eave
