#include "report/compare/measures.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

std::optional<double> last_validation(const RunRecord& run) {
  if (run.evaluations.empty() || !run.evaluations.back().record.validation) return std::nullopt;
  return run.evaluations.back().record.validation->accuracy;
}

std::optional<Reached> reach(const RunRecord& run, double accuracy) {
  const auto found = std::ranges::find_if(run.evaluations, [&](const EvaluationPoint& point) {
    return point.record.center.accuracy >= accuracy - kRounding;
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

std::optional<double> common_accuracy(const std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  double common = 1;
  bool any = false;
  for (const Variant& variant : variants) {
    if (!variant.chosen) continue;
    for (const std::size_t run : variant.finished) {
      double best = 0;
      for (const EvaluationPoint& point : runs[run].evaluations) best = std::max(best, point.record.center.accuracy);
      common = std::min(common, best);
      any = true;
    }
  }
  const double percent = std::floor(100 * common + kRounding);
  if (!any || percent < 1) return std::nullopt;
  return percent / 100;
}

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

}  // namespace eave
