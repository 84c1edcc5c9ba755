#include "report/compare/comparison.h"

#include <algorithm>
#include <cmath>

#include "base/options/number_text.h"
#include "eave/check.h"
#include "report/compare/copies.h"
#include "report/compare/significance.h"
#include "report/compare/tuning.h"
#include "report/record/config.h"
#include "report/record/metric.h"

namespace eave {
namespace {

// Accuracies are counts divided by a size, so 0.87 may differ from 87 / 100 in the last bit.
constexpr double kRounding = 1e-9;

// Nothing if a finished run has no value.
template <typename Value>
std::optional<Estimate> over_finished(const Variant& variant, const std::vector<RunRecord>& runs, const Value& value,
                                      ValueRange range = ValueRange::kPositive) {
  SeededValues values;
  for (const std::size_t run : variant.finished) {
    const std::optional<double> one = value(runs[run]);
    if (!one) return std::nullopt;
    values.seeds.push_back(setting_in(runs[run].settings, "seed"));
    values.values.push_back(*one);
  }
  if (values.values.empty()) return std::nullopt;
  return estimate(by_seed(values).values, range);
}

Reached at(const EvaluationPoint& point) {
  return {point.record.seconds, static_cast<double>(point.record.samples), point.bytes};
}

TimeShares mean_shares(const Variant& variant, const std::vector<RunRecord>& runs) {
  TimeShares mean;
  const auto n = static_cast<double>(variant.finished.size());
  for (const std::size_t run : variant.finished) {
    mean.computing += runs[run].shares.computing / n;
    mean.exchanging += runs[run].shares.exchanging / n;
    mean.waiting += runs[run].shares.waiting / n;
    mean.loading += runs[run].shares.loading / n;
  }
  return mean;
}

const Variant* one_rank_like(const Variant& variant, const std::vector<Variant>& variants) {
  const Variant* fastest = nullptr;
  for (const Variant& other : variants) {
    const bool fits = other.ranks == 1 && other.chosen && other.samples_per_second && !other.changed_ranks &&
                      share_machine(other, variant) && other.batch_per_rank == variant.batch_per_rank;
    if (fits && (!fastest || other.samples_per_second->mean > fastest->samples_per_second->mean)) fastest = &other;
  }
  return fastest;
}

// Rounds towards minus infinity, to three digits.
double rounded_down(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 2);
  return unit * std::floor(value / unit + kRounding);
}

// The best value of the metric that every finished run of every chosen variant reached in some evaluation, rounded
// towards the worse: accuracy to whole percent, and none below 1 %. Nothing if there are no runs.
std::optional<double> common_target(const Metric& metric, const std::vector<Variant>& variants,
                                    const std::vector<RunRecord>& runs) {
  double common = INFINITY;
  for (const Variant& variant : variants) {
    if (!variant.chosen) continue;
    for (const std::size_t run : variant.finished) {
      common = std::min(common, best_score(runs[run]));
    }
  }
  if (!std::isfinite(common)) return std::nullopt;
  if (!is_accuracy(metric)) return goodness(metric, rounded_down(common));
  const double percent = std::floor(100 * common + kRounding);
  if (percent < 1) return std::nullopt;
  return percent / 100;
}

// A perplexity of text is exp(loss), so its interval is that of the loss, which is never below 0.
ValueRange range_of_scores(const std::vector<RunRecord>& runs) {
  if (runs.empty()) return ValueRange::kAny;
  if (is_accuracy(runs.front().metric)) return ValueRange::kShare;
  return runs.front().tokens_per_sample > 0 ? ValueRange::kFromOne : ValueRange::kAny;
}

// The test loss of the consensus at the end.
std::optional<double> final_loss(const RunRecord& run) {
  const double loss = run.evaluations.empty() ? std::nan("") : run.evaluations.back().record.center.loss;
  return std::isfinite(loss) ? std::optional(loss) : std::nullopt;
}

ValueRange range_of_losses(const Variant& variant, const std::vector<RunRecord>& runs) {
  const auto is_positive = [&](std::size_t run) { return final_loss(runs[run]).value_or(0) > 0; };
  return std::ranges::all_of(variant.finished, is_positive) ? ValueRange::kLoss : ValueRange::kAny;
}

std::vector<std::string> seeds_of(const Variant& variant, const std::vector<RunRecord>& runs) {
  SeededValues finished;
  for (const std::size_t run : variant.finished) finished.seeds.push_back(setting_in(runs[run].settings, "seed"));
  finished.values.resize(finished.seeds.size());
  return by_seed(finished).seeds;
}

std::size_t fewest_evaluations(const Variant& variant, const std::vector<RunRecord>& runs) {
  std::vector<std::size_t> counts;
  for (const std::size_t run : variant.finished) counts.push_back(runs[run].evaluations.size());
  return counts.empty() ? 0 : std::ranges::min(counts);
}

// Each of these functions fills the fields of Variant that its name says. The baseline of a speed-up is the fastest
// chosen one-rank variant, of any method, with the same batch per rank on the same machine (share_machine).
void measure_ends(std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  using Value = std::optional<double>;
  for (Variant& variant : variants) {
    const auto of = [&](const auto& value, ValueRange range = ValueRange::kPositive) {
      return over_finished(variant, runs, value, range);
    };
    const auto accuracy = [](const RunRecord& run) -> Value { return run.summary->evaluation.center.accuracy; };
    const ValueRange range = range_of_scores(runs);
    variant.accuracy = of(accuracy, range);
    variant.validation = of(last_validation, range);
    variant.loss = of(final_loss, range_of_losses(variant, runs));
    variant.seeds = seeds_of(variant, runs);
    variant.evaluations = fewest_evaluations(variant, runs);
    variant.seconds = of([](const RunRecord& run) -> Value { return run.summary->seconds; });
    variant.samples = of([](const RunRecord& run) -> Value { return static_cast<double>(run.summary->samples); });
    variant.samples_per_second = of([](const RunRecord& run) -> Value { return run.summary->samples_per_second; });
    variant.bytes_per_rank =
        of([](const RunRecord& run) -> Value { return static_cast<double>(run.summary->bytes_per_rank); });
    variant.shares = mean_shares(variant, runs);
    variant.are_copies = are_copies(variant, runs);
    variant.changed_ranks =
        std::ranges::any_of(variant.finished, [&](std::size_t run) { return runs[run].ranks_in_turn.size() > 1; });
  }
}

void measure_speedups(std::vector<Variant>& variants) {
  for (Variant& variant : variants) {
    const Variant* one = one_rank_like(variant, variants);
    // A smaller divisor would give a meaningless speed-up.
    if (!one || variant.changed_ranks || !variant.samples_per_second || !(one->samples_per_second->mean > 1e-2))
      continue;
    variant.speedup = ratio_of(*variant.samples_per_second, *one->samples_per_second);
    if (one == &variant) variant.speedup->low = variant.speedup->high = std::nullopt;  // it is 1, whatever the scatter
    variant.efficiency = in_units_of(variant.ranks, *variant.speedup);
  }
}

void measure_to_target(std::vector<Variant>& variants, const std::vector<RunRecord>& runs, double accuracy) {
  const auto reached = [&](double Reached::*field) {
    return [accuracy, field](const RunRecord& run) -> std::optional<double> {
      const std::optional<Reached> when = reach(run, accuracy);
      return when ? std::optional((*when).*field) : std::nullopt;
    };
  };
  for (Variant& variant : variants) {
    variant.seconds_to_target = over_finished(variant, runs, reached(&Reached::seconds));
    variant.samples_to_target = over_finished(variant, runs, reached(&Reached::samples));
    variant.bytes_to_target = over_finished(variant, runs, reached(&Reached::bytes));
    variant.is_within = std::ranges::any_of(variant.finished, [&](std::size_t run) {
      const std::optional<Reached> when = reach(runs[run], accuracy);
      return when && when->is_within;
    });
  }
}

// Leaves out the runs that have another metric than the first one.
void keep_first_metric(Comparison& comparison) {
  if (comparison.runs.empty()) return;
  comparison.metric = comparison.runs.front().metric;
  const auto text = [](const Metric& metric) {
    return metric.name + (metric.lower_is_better ? ", lower is better" : ", higher is better");
  };
  std::erase_if(comparison.runs, [&](const RunRecord& run) {
    if (run.metric == comparison.metric) return false;
    comparison.left_out.push_back({run.name, "its metric is " + text(run.metric) + "; that of the first run is " +
                                                 text(comparison.metric) + ": report them apart"});
    return true;
  });
}

std::int64_t shared_tokens_per_sample(const std::vector<RunRecord>& runs) {
  const std::int64_t first = runs.empty() ? 0 : runs.front().tokens_per_sample;
  const auto has_it = [&](const RunRecord& run) { return run.tokens_per_sample == first; };
  return std::ranges::all_of(runs, has_it) ? first : 0;
}

// Windows of text of several lengths are no equal samples: from now on a sample of these runs is one token.
void count_tokens_if_windows_differ(std::vector<RunRecord>& runs) {
  const bool are_text = std::ranges::all_of(runs, [](const RunRecord& run) { return run.tokens_per_sample > 0; });
  if (!are_text || shared_tokens_per_sample(runs) > 0) return;
  for (RunRecord& run : runs) {
    const std::int64_t tokens = std::exchange(run.tokens_per_sample, 1);
    for (EvaluationPoint& point : run.evaluations) point.record.samples *= tokens;
    if (!run.summary) continue;
    run.summary->samples *= tokens;
    run.summary->samples_per_second *= static_cast<double>(tokens);
  }
}

void check_target(const Metric& metric, double target) {
  const std::string given = "--target " + number_text(target) + ": expected ";
  if (is_accuracy(metric) && !(target >= 0 && target < 1))
    throw Error(ExitCode::kUsage, given + "at least 0 and below 1, as the runs have an accuracy");
  if (metric.name == "perplexity" && !(target >= 1))
    throw Error(ExitCode::kUsage, given + "at least 1, as the runs have a perplexity");
}

}  // namespace

double best_score(const RunRecord& run) {
  double best = -INFINITY;
  for (const EvaluationPoint& point : run.evaluations)
    best = std::max(best, goodness(run.metric, point.record.center.accuracy));
  return best;
}

std::optional<Reached> reach(const RunRecord& run, double accuracy) {
  const auto found = std::ranges::find_if(run.evaluations, [&](const EvaluationPoint& point) {
    return goodness(run.metric, point.record.center.accuracy) >= goodness(run.metric, accuracy) - kRounding;
  });
  if (found == run.evaluations.end()) return std::nullopt;
  const Reached here = at(*found);
  if (found == run.evaluations.begin()) return Reached{here.seconds, here.samples, here.bytes, true};
  const EvaluationPoint& before = *std::prev(found);
  const double from = before.record.center.accuracy, to = found->record.center.accuracy;
  const double part = std::min((accuracy - from) / (to - from), 1.0);
  const Reached there = at(before);
  return Reached{there.seconds + part * (here.seconds - there.seconds),
                 there.samples + part * (here.samples - there.samples),
                 there.bytes + part * (here.bytes - there.bytes)};
}

Comparison compare_runs(RunList list, std::optional<double> target) {
  Comparison comparison;
  comparison.runs = std::move(list.runs);
  comparison.left_out = std::move(list.left_out);
  keep_first_metric(comparison);
  count_tokens_if_windows_differ(comparison.runs);
  comparison.tokens_per_sample = shared_tokens_per_sample(comparison.runs);
  if (target) check_target(comparison.metric, *target);
  comparison.variants = group_runs(comparison.runs);
  comparison.differing = differing_settings(comparison.variants);
  measure_ends(comparison.variants, comparison.runs);
  choose_learning_rates(comparison.variants, comparison.runs);
  measure_speedups(comparison.variants);
  if (target) {
    comparison.target = {*target, "--target"};
  } else if (const auto common = common_target(comparison.metric, comparison.variants, comparison.runs)) {
    const std::string best = comparison.metric.lower_is_better ? "the lowest" : "the highest";
    comparison.target = {*common, best + " that every finished run of every chosen variant reached"};
  }
  if (comparison.target) measure_to_target(comparison.variants, comparison.runs, comparison.target->accuracy);
  comparison.cells = rank_cells(comparison);
  comparison.verdict = verdict_of(comparison);
  comparison.notes = notes_on(comparison);
  return comparison;
}

}  // namespace eave
