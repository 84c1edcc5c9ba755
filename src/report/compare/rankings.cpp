#include "report/compare/rankings.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/comparison.h"
#include "report/record/config.h"
#include "report/record/metric.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

using Members = std::vector<const Variant*>;

double relative_spread(const Members& cell, std::optional<Estimate> Variant::*measure) {
  double low = INFINITY, high = 0;
  for (const Variant* variant : cell) {
    if (!(variant->*measure)) return INFINITY;
    low = std::min(low, (variant->*measure)->mean);
    high = std::max(high, (variant->*measure)->mean);
  }
  return high > 0 ? (high - low) / high : INFINITY;
}

// The value of an option that all variants of the cell have; "" if it is missing or differs.
std::string shared_setting(const Members& cell, const std::string& name) {
  const std::string text = setting_in(cell.front()->settings, name);
  const bool is_shared =
      std::ranges::all_of(cell, [&](const Variant* variant) { return setting_in(variant->settings, name) == text; });
  return is_shared ? text : "";
}

std::string count_of(double count, const std::string& one) {
  return number_text(count) + " " + one + (count == 1 ? "" : "s");
}

// Whether the budget is a number of samples or tokens, or so small a part of an epoch that samples say more.
bool is_in_samples(const RunRecord& run) {
  constexpr double kFewEpochs = 0.1;
  const auto budget = budget_without_epochs(run.settings);
  const bool is_counted = budget && (budget->first == "max-samples" || budget->first == "max-tokens");
  return is_counted || run.train_samples == 0 || run.summary->epochs < kFewEpochs;
}

std::string length_text(const Comparison& comparison, const RunRecord& run) {
  if (is_in_samples(run)) return samples_text(comparison, static_cast<double>(run.summary->samples));
  return count_of(std::round(100 * run.summary->epochs) / 100, "epoch");
}

constexpr double kAlike = 0.05;

// A run checks its budget 20 times per epoch, so it ends a little later than the budget. One that has another end too
// may be far from it.
bool spent_it(const Members& cell, std::optional<Estimate> Variant::*measure, double budget) {
  return budget > 0 && std::ranges::all_of(cell, [&](const Variant* variant) {
           return variant->*measure && std::abs((variant->*measure)->mean - budget) <= kAlike * budget;
         });
}

// eave.plan ends a program by the clock, and what a run records as its seconds has no evaluations.
bool spent_time(const Members& cell, const Comparison& comparison, double budget) {
  if (spent_it(cell, &Variant::seconds, budget)) return true;
  return budget > 0 && std::ranges::all_of(cell, [&](const Variant* variant) {
           return variant->settings.contains("program") &&
                  std::ranges::all_of(variant->finished, [&](std::size_t index) {
                    const RunRecord& run = comparison.runs[index];
                    double seconds = run.summary->seconds;
                    for (const EvaluationPoint& each : run.evaluations) seconds += each.record.evaluation_seconds;
                    return std::abs(seconds - budget) <= kAlike * budget;
                  });
         });
}

// 0 if the variants share none.
double seconds_given(const Members& cell) {
  return read_seconds(shared_setting(cell, "stop-after-time")).value.value_or(0);
}
double bytes_given(const Members& cell) {
  return static_cast<double>(read_bytes(shared_setting(cell, "stop-after-bytes")).value.value_or(0));
}

// Whether all runs have spent the budget and ended alike, although perhaps beyond it.
bool ended_alike(const Members& cell, std::optional<Estimate> Variant::*measure, double budget) {
  const auto has_spent = [&](const Variant* variant) { return (variant->*measure)->mean >= (1 - kAlike) * budget; };
  return budget > 0 && relative_spread(cell, measure) <= kAlike && std::ranges::all_of(cell, has_spent);
}

bool is_fixed_by_budget(const Comparison& comparison, const Members& cell, Measure measure) {
  const double seconds = seconds_given(cell), bytes = bytes_given(cell);
  if (measure == Measure::kSeconds)
    return spent_time(cell, comparison, seconds) || ended_alike(cell, &Variant::seconds, seconds);
  return measure == Measure::kBytes &&
         (spent_it(cell, &Variant::bytes_per_rank, bytes) || ended_alike(cell, &Variant::bytes_per_rank, bytes));
}

std::string budget_of(const Members& cell, const Comparison& comparison) {
  constexpr double kAlikeSamples = 0.01;
  const Variant& first = *cell.front();
  if (relative_spread(cell, &Variant::samples) <= kAlikeSamples)
    return "after " + length_text(comparison, comparison.runs[first.finished.front()]);
  if (spent_time(cell, comparison, seconds_given(cell))) return "after " + shared_setting(cell, "stop-after-time");
  if (spent_it(cell, &Variant::bytes_per_rank, bytes_given(cell)))
    return "after " + shared_setting(cell, "stop-after-bytes") + " sent by a rank";
  if (relative_spread(cell, &Variant::seconds) <= kAlike) return "after " + format("%.3g s", first.seconds->mean);
  if (relative_spread(cell, &Variant::bytes_per_rank) <= kAlike) return "after the same bytes per rank";
  return "";
}

bool is_to_target(Measure measure) {
  return measure == Measure::kSecondsToTarget || measure == Measure::kSamplesToTarget ||
         measure == Measure::kBytesToTarget;
}

MeasureKind kind_of(const Comparison& comparison, const Members& cell, Measure measure) {
  if (measure != Measure::kScore) return {measure != Measure::kSamplesPerSecond, true, 0};
  MeasureKind kind{comparison.metric.lower_is_better, false, 0};
  if (!is_accuracy(comparison.metric)) return kind;
  for (const Variant* variant : cell) {
    const auto labels = static_cast<double>(comparison.runs[variant->runs.front()].test_labels);
    if (labels > 0) kind.resolution = std::max(kind.resolution, 1 / labels);
  }
  return kind;
}

Bar bar_of(const Comparison& comparison, const Members& cell, const MethodCell& facts, Measure measure,
           const Ranking& ranking) {
  if (is_fixed_by_budget(comparison, cell, measure)) return Bar::kFixedByBudget;
  if (measure != Measure::kScore && !is_to_target(measure)) return Bar::kNone;
  if (measure == Measure::kScore) {
    const auto stops = [](const Variant* variant) {
      return variant->settings.contains("stop-at-accuracy") || variant->settings.contains("stop-at-loss");
    };
    if (std::ranges::any_of(cell, stops)) return Bar::kStoppedAtScore;
    if (facts.budget.empty()) return Bar::kDifferentBudgets;
  }
  if (!ranking.order.empty() && !cell[ranking.order.front()]->lost.empty()) return Bar::kLostRuns;
  if (std::ranges::any_of(cell, &Variant::are_copies)) return Bar::kCopies;
  if (std::ranges::any_of(cell, [](const Variant* variant) { return variant->evaluations < 2; }))
    return Bar::kOneEvaluation;
  const auto is_within = [&](const Contrast& contrast) { return cell[contrast.other]->is_within; };
  const bool is_coarse = is_to_target(measure) && std::ranges::any_of(ranking.contrasts, is_within);
  return is_coarse ? Bar::kTooCoarse : Bar::kNone;
}

MeasuredRanking rank_by(const Comparison& comparison, const Members& cell, const MethodCell& facts,
                        const NamedMeasure& named) {
  std::vector<SeededValues> values;
  for (const Variant* variant : cell) {
    const std::optional<Estimate>& estimate = variant->*named.value;
    values.push_back(estimate ? SeededValues{variant->seeds, estimate->values} : SeededValues());
  }
  const Ranking ranking = rank_methods(values, kind_of(comparison, cell, named.measure));
  return {bar_of(comparison, cell, facts, named.measure, ranking), ranking};
}

}  // namespace

std::string samples_text(const Comparison& comparison, double samples) {
  const bool are_tokens = comparison.tokens_per_sample > 0;
  const double count = samples * static_cast<double>(are_tokens ? comparison.tokens_per_sample : 1);
  return format("%.0f", count) + (are_tokens ? " token" : " sample") + (count == 1 ? "" : "s");
}

const std::vector<NamedMeasure>& named_measures() {
  static const std::vector<NamedMeasure> kMeasures = {
      {"accuracy", Measure::kScore, &Variant::accuracy},
      {"seconds", Measure::kSeconds, &Variant::seconds},
      {"samples_per_second", Measure::kSamplesPerSecond, &Variant::samples_per_second},
      {"bytes_per_rank", Measure::kBytes, &Variant::bytes_per_rank},
      {"seconds_to_target", Measure::kSecondsToTarget, &Variant::seconds_to_target},
      {"samples_to_target", Measure::kSamplesToTarget, &Variant::samples_to_target},
      {"bytes_to_target", Measure::kBytesToTarget, &Variant::bytes_to_target}};
  return kMeasures;
}

std::vector<MethodCell> rank_cells(const Comparison& comparison) {
  std::map<std::tuple<int, double, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < comparison.variants.size(); ++i) {
    const Variant& variant = comparison.variants[i];
    if (variant.chosen) groups[{-variant.ranks, variant.batch_per_rank, variant.place}].push_back(i);
  }
  std::vector<MethodCell> cells;
  for (const auto& [unused, variants] : groups) {
    if (variants.size() < 2) continue;
    Members members;
    for (const std::size_t variant : variants) members.push_back(&comparison.variants[variant]);
    MethodCell cell{variants, budget_of(members, comparison), {}};
    for (const NamedMeasure& named : named_measures())
      cell.by[named.measure] = rank_by(comparison, members, cell, named);
    cells.push_back(cell);
  }
  return cells;
}

Standing standing_of(const Comparison& comparison, std::size_t variant, Measure measure) {
  for (const MethodCell& cell : comparison.cells) {
    const auto found = std::ranges::find(cell.variants, variant);
    if (found == cell.variants.end()) continue;
    const auto place = static_cast<std::size_t>(found - cell.variants.begin());
    const MeasuredRanking& measured = cell.by.at(measure);
    const std::vector<Contrast>& contrasts = measured.ranking.contrasts;
    const bool is_known = !contrasts.empty() && std::ranges::all_of(contrasts, &Contrast::is_known);
    if (measured.bar != Bar::kNone || !is_known) return Standing::kNone;
    if (measured.ranking.order.front() == place) return measured.has_first() ? Standing::kFirst : Standing::kTied;
    const auto mine = std::ranges::find(contrasts, place, &Contrast::other);
    if (mine == contrasts.end()) return Standing::kNone;
    return mine->is_apart ? Standing::kBehind : Standing::kTied;
  }
  return Standing::kNone;
}

}  // namespace eave
