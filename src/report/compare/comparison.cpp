#include "report/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/options/number_text.h"
#include "eave/check.h"
#include "report/record/config.h"
#include "report/record/metric.h"

namespace eave {
namespace {

// Accuracies are counts divided by a size, so 0.87 may differ from 87 / 100 in the last bit.
constexpr double kRounding = 1e-9;

template <typename Value>
std::optional<Estimate> over_finished(const Variant& variant, const std::vector<RunRecord>& runs, const Value& value) {
  std::vector<double> values;
  for (const std::size_t run : variant.finished) {
    if (const std::optional<double> one = value(runs[run])) values.push_back(*one);
  }
  if (values.empty() || values.size() < variant.finished.size()) return std::nullopt;
  return estimate(values);
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
    const bool fits = other.ranks == 1 && other.chosen && other.samples_per_second && share_machine(other, variant) &&
                      other.batch_per_rank == variant.batch_per_rank;
    if (fits && (!fastest || other.samples_per_second->mean > fastest->samples_per_second->mean)) fastest = &other;
  }
  return fastest;
}

// The validation accuracy at the end of the run, or nothing if none was recorded.
std::optional<double> last_validation(const RunRecord& run) {
  if (run.evaluations.empty() || !run.evaluations.back().record.validation) return std::nullopt;
  return run.evaluations.back().record.validation->accuracy;
}

double best_score(const RunRecord& run) {
  double best = -INFINITY;
  for (const EvaluationPoint& point : run.evaluations)
    best = std::max(best, goodness(run.metric, point.record.center.accuracy));
  return best;
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

// Each of these functions fills the fields of Variant that its name says. The baseline of a speed-up is the fastest
// chosen one-rank variant, of any method, with the same batch per rank on the same machine (share_machine).
void measure_ends(std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  using Value = std::optional<double>;
  for (Variant& variant : variants) {
    const auto of = [&](const auto& value) { return over_finished(variant, runs, value); };
    variant.accuracy = of([](const RunRecord& run) -> Value { return run.summary->evaluation.center.accuracy; });
    variant.validation = of(last_validation);
    variant.seconds = of([](const RunRecord& run) -> Value { return run.summary->seconds; });
    variant.samples = of([](const RunRecord& run) -> Value { return static_cast<double>(run.summary->samples); });
    variant.samples_per_second = of([](const RunRecord& run) -> Value { return run.summary->samples_per_second; });
    variant.bytes_per_rank =
        of([](const RunRecord& run) -> Value { return static_cast<double>(run.summary->bytes_per_rank); });
    variant.shares = mean_shares(variant, runs);
  }
}

void measure_speedups(std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  for (Variant& variant : variants) {
    const Variant* one = one_rank_like(variant, variants);
    // A smaller divisor would give a meaningless speed-up.
    if (!one || !(one->samples_per_second->mean > 1e-2)) continue;
    const double alone = one->samples_per_second->mean;
    const auto speedup = [&](const RunRecord& run) -> std::optional<double> {
      return run.summary->samples_per_second / alone;
    };
    const auto efficiency = [&](const RunRecord& run) -> std::optional<double> { return *speedup(run) / run.ranks; };
    variant.speedup = over_finished(variant, runs, speedup);
    variant.efficiency = over_finished(variant, runs, efficiency);
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
  }
}

// Chooses the best of some variants that differ only in the learning rate. The best has the best mean validation
// score at the end. If a finished run has recorded none, the test score decides.
//
// Only seeds that all variants of the group have count, because a comparison runs further seeds for the chosen rate
// only. If they share no seed, all count. A variant that lost a run with such a seed ranks behind those that lost none.
class LearningRateChoice {
 public:
  LearningRateChoice(const std::vector<Variant*>& rivals, const std::vector<RunRecord>& runs)
      : rivals_(rivals), runs_(runs) {
    for (const Variant* rival : rivals) keep_common(rival == rivals.front(), seeds_of(*rival));
    for (const Variant* rival : rivals) {
      for (const std::size_t run : counted(*rival)) by_test_ |= is_finished(run) && !last_validation(runs[run]);
    }
  }

  void choose() const {
    std::vector<Variant*> able = rivals_;
    std::erase_if(able, [&](const Variant* rival) { return !rival->accuracy || finished(*rival) == 0; });
    for (Variant* rival : rivals_) rival->why_chosen = "no run of it finished";
    if (able.empty()) return;
    Variant* best = *std::ranges::max_element(able, {}, [&](const Variant* rival) {
      return std::tuple(finished(*rival) == counted(*rival).size(), score(*rival));
    });
    const std::string by = (by_test_ ? "test " : "validation ") + runs_[rivals_.front()->runs.front()].metric.name;
    for (Variant* rival : able) {
      rival->why_chosen = "learning rate " + setting_in(best->settings, "lr") + " did better, by " + by;
    }
    best->chosen = true;
    best->chosen_by_test = by_test_ && rivals_.size() > 1;
    best->why_chosen =
        rivals_.size() == 1 ? "only one" : "best of " + std::to_string(rivals_.size()) + " learning rates by " + by;
  }

 private:
  std::set<std::string> seeds_of(const Variant& variant) const {
    std::set<std::string> seeds;
    for (const std::size_t run : variant.runs) seeds.insert(setting_in(runs_[run].settings, "seed"));
    return seeds;
  }

  void keep_common(bool is_first, const std::set<std::string>& seeds) {
    if (is_first) common_ = seeds;
    std::erase_if(common_, [&](const std::string& seed) { return !seeds.contains(seed); });
  }

  // The runs that count: those with a common seed, or all if the variants share no seed.
  std::vector<std::size_t> counted(const Variant& variant) const {
    std::vector<std::size_t> counted = variant.runs;
    if (common_.empty()) return counted;
    std::erase_if(counted, [&](std::size_t run) { return !common_.contains(setting_in(runs_[run].settings, "seed")); });
    return counted;
  }

  bool is_finished(std::size_t run) const { return runs_[run].end == RunEnd::kFinished; }

  std::size_t finished(const Variant& variant) const {
    const std::vector<std::size_t> all = counted(variant);
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](std::size_t run) { return is_finished(run); }));
  }

  double score(const Variant& variant) const {
    double sum = 0;
    for (const std::size_t run : counted(variant)) {
      if (!is_finished(run)) continue;
      const double value = by_test_ ? runs_[run].summary->evaluation.center.accuracy : *last_validation(runs_[run]);
      sum += goodness(runs_[run].metric, value);
    }
    return sum / static_cast<double>(finished(variant));
  }

  const std::vector<Variant*>& rivals_;
  const std::vector<RunRecord>& runs_;
  std::set<std::string> common_;  // seeds
  bool by_test_ = false;
};

// Groups variants that differ only in the learning rate, and marks the best of each group as chosen.
void choose_learning_rates(std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  std::map<std::map<std::string, std::string>, std::vector<Variant*>> rivals;
  for (Variant& variant : variants) {
    std::map<std::string, std::string> rest = variant.settings;
    rest.erase("lr");
    rivals[rest].push_back(&variant);
  }
  for (const auto& [unused, group] : rivals) LearningRateChoice(group, runs).choose();
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

}  // namespace

std::optional<Reached> reach(const RunRecord& run, double accuracy) {
  const auto found = std::ranges::find_if(run.evaluations, [&](const EvaluationPoint& point) {
    return goodness(run.metric, point.record.center.accuracy) >= goodness(run.metric, accuracy) - kRounding;
  });
  if (found == run.evaluations.end()) return std::nullopt;
  const Reached here = at(*found);
  if (found == run.evaluations.begin()) return here;
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
  if (target && is_accuracy(comparison.metric) && !(*target >= 0 && *target < 1))
    throw Error(ExitCode::kUsage,
                "--target " + number_text(*target) + ": expected at least 0 and below 1, as the runs have an accuracy");
  comparison.variants = group_runs(comparison.runs);
  comparison.differing = differing_settings(comparison.variants);
  measure_ends(comparison.variants, comparison.runs);
  choose_learning_rates(comparison.variants, comparison.runs);
  measure_speedups(comparison.variants, comparison.runs);
  if (target) {
    comparison.target = {*target, "--target"};
  } else if (const auto common = common_target(comparison.metric, comparison.variants, comparison.runs)) {
    const std::string best = comparison.metric.lower_is_better ? "the lowest" : "the highest";
    comparison.target = {*common, best + " that every run of every chosen variant reached"};
  }
  if (comparison.target) measure_to_target(comparison.variants, comparison.runs, comparison.target->accuracy);
  comparison.verdict = verdict_of(comparison);
  comparison.notes = notes_on(comparison);
  return comparison;
}

}  // namespace eave
