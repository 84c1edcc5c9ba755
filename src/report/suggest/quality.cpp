#include <algorithm>
#include <cmath>
#include <map>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/statistics.h"
#include "report/record/config.h"
#include "report/record/metric.h"
#include "report/suggest/trials.h"

namespace eave {
namespace {

constexpr double kAlikeSamples = 0.02;

bool is_with(const PlanMethod& method, const SuggestRun& run) {
  if (setting_in(run.record.settings, "communicator") != method.name) return false;
  const bool has_tau = method.pattern != ExchangePattern::kGradientSums && method.pattern != ExchangePattern::kNone;
  return !has_tau || number_in(run.record.settings, "tau") == static_cast<double>(method.tau);
}

struct Scores {
  std::vector<double> values;
  std::vector<std::string> names;
  std::string rate;       // the learning rate of these runs
  std::size_t rates = 0;  // number of rates that were tried
};

// The scores of the method's runs with its best rate, among runs that saw `samples` samples, nearly; among those that
// saw as many as the first run if `samples` is 0.
Scores scores_of(const SuggestQuestion& question, const PlanMethod& method, double& samples) {
  std::map<std::string, Scores> by_rate;
  for (const SuggestRun& run : question.runs) {
    if (!is_with(method, run) || !run.record.summary || run.record.ranks != question.ranks) continue;
    const auto seen = static_cast<double>(run.record.summary->samples);
    if (samples == 0) samples = seen;
    if (std::abs(seen - samples) > kAlikeSamples * samples) continue;
    Scores& scores = by_rate[setting_in(run.record.settings, "lr")];
    scores.values.push_back(run.record.summary->evaluation.center.accuracy);
    scores.names.push_back(run.name);
  }
  Scores best;
  const Metric& metric = question.runs[question.basis].record.metric;
  for (auto& [rate, scores] : by_rate) {
    scores.rate = rate;
    if (best.values.empty() || goodness(metric, mean_of(scores.values)) > goodness(metric, mean_of(best.values)))
      best = scores;
  }
  best.rates = by_rate.size();
  return best;
}

std::string text_of(const std::string& name, const Scores& scores, const Metric& metric) {
  return name + " " + score_text(metric, mean_of(scores.values)) + " (" +
         (scores.names.size() == 1 ? scores.names.front() : "mean of " + count_text(std::ssize(scores.names), "run")) +
         ")";
}

std::string failure_of(const SuggestQuestion& question, const PlanMethod& method) {
  for (const SuggestRun& run : question.runs)
    if (is_with(method, run) && run.record.end == RunEnd::kDiverged) return run.name + " diverged with it";
  return "";
}

}  // namespace

Quality quality_of(const SuggestQuestion& question, const PlanMethod& method) {
  Quality quality;
  quality.why_not = failure_of(question, method);
  double samples = 0;
  const Scores alone = scores_of(question, method, samples);
  if (alone.rates > 1) quality.best_rate = alone.rate;
  samples = 0;
  const Scores reference = scores_of(question, question.methods.front(), samples);
  if (reference.values.empty()) return quality;
  const Scores own = scores_of(question, method, samples);
  if (own.values.empty() || method.name == question.methods.front().name) return quality;
  const Metric& metric = question.runs[question.basis].record.metric;
  const Estimate ours = estimate(own.values), theirs = estimate(reference.values);
  const double least = is_accuracy(metric) ? 0.01 : 0.01 * std::abs(theirs.mean);
  const double behind = goodness(metric, theirs.mean) - goodness(metric, ours.mean);
  const std::optional<Difference> told = difference(theirs, ours);
  quality.is_known = true;
  quality.is_one_run_each = own.values.size() == 1 && reference.values.size() == 1;
  quality.sentence = "after the same samples: " + text_of(method.name, own, metric) + ", " +
                     text_of(question.methods.front().name, reference, metric);
  if (quality.why_not.empty() && behind > least && (!told || told->p < 0.05)) quality.why_not = quality.sentence;
  return quality;
}

}  // namespace eave
