#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/significance.h"
#include "report/record/config.h"
#include "report/record/metric.h"
#include "report/suggest/trials.h"

namespace eave {
namespace {

constexpr double kAlikeSamples = 0.02;

// Whether the run says something of the method: it had the ranks and the batch in question.
bool is_with(const SuggestQuestion& question, const PlanMethod& method, const SuggestRun& run) {
  const auto& ours = question.runs[question.basis].record.settings;
  const auto is_same = [&](const char* name) {
    return is_same_value(setting_in(run.record.settings, name), setting_in(ours, name));
  };
  return has_method(method, run) && run.record.ranks == question.ranks && is_same("batch") && is_same("batch-means");
}

bool is_diverged(const SuggestRun& run) { return run.record.end == RunEnd::kDiverged; }
bool is_finished(const SuggestRun& run) { return run.record.summary && !is_diverged(run); }

std::string rate_in(const SuggestRun& run) { return setting_in(run.record.settings, "lr"); }

struct Scores {
  SeededValues of_runs;
  std::vector<std::string> names;
  double resolution = 0;  // of an accuracy: one label of the test set
  std::string rate;       // the learning rate of these runs
  std::size_t rates = 0;  // number of rates with which runs finished

  bool empty() const { return names.empty(); }
  SeededValues of_seeds() const { return by_seed(of_runs); }
  std::size_t seeds() const { return of_seeds().values.size(); }
  double mean() const { return mean_of(of_seeds().values); }
};

// The scores of the method's runs with its best rate, among runs that saw `samples` samples, nearly; among those that
// saw as many as the first run if `samples` is 0.
Scores scores_of(const SuggestQuestion& question, const PlanMethod& method, double& samples) {
  std::map<std::string, Scores> by_rate;
  for (const SuggestRun& run : question.runs) {
    if (!is_with(question, method, run) || !is_finished(run)) continue;
    const auto seen = static_cast<double>(run.record.summary->samples);
    if (samples == 0) samples = seen;
    if (std::abs(seen - samples) > kAlikeSamples * samples) continue;
    Scores& scores = by_rate[rate_in(run)];
    scores.of_runs.values.push_back(run.record.summary->evaluation.center.accuracy);
    scores.names.push_back(run.name);
    scores.of_runs.seeds.push_back(setting_in(run.record.settings, "seed"));
    const auto tested = static_cast<double>(run.record.test_labels);
    if (is_accuracy(run.record.metric) && tested > 0) scores.resolution = 1 / tested;
  }
  Scores best;
  const Metric& metric = question.runs[question.basis].record.metric;
  for (auto& [rate, scores] : by_rate) {
    scores.rate = rate;
    if (best.empty() || goodness(metric, scores.mean()) > goodness(metric, best.mean())) best = scores;
  }
  best.rates = by_rate.size();
  return best;
}

std::string text_of(const std::string& name, const Scores& scores, const Metric& metric) {
  return name + " " + score_text(metric, scores.mean()) + " (" +
         (scores.names.size() == 1 ? scores.names.front()
                                   : "mean of " + count_text(static_cast<std::int64_t>(scores.seeds()), "seed")) +
         ")";
}

// Whether several seeds of both leave open which is better, by the rule of comparisons.
bool may_be_chance(const Scores& one, const Scores& other, const Metric& metric) {
  const Ranking ranking = rank_methods({one.of_seeds(), other.of_seeds()},
                                       {metric.lower_is_better, false, std::max(one.resolution, other.resolution)});
  return !ranking.contrasts.empty() && ranking.contrasts.front().is_known && !ranking.contrasts.front().is_apart;
}

// Judges the method by its runs that diverged. `finished`: its scores at its best rate.
void judge_divergence(const SuggestQuestion& question, const PlanMethod& method, const Scores& finished,
                      Quality& quality) {
  std::set<std::string> others;
  for (const SuggestRun& run : question.runs) {
    if (!is_with(question, method, run) || !is_diverged(run)) continue;
    if (!finished.empty() && rate_in(run) != finished.rate)
      others.insert(rate_in(run));
    else if (quality.why_not.empty())
      quality.why_not = run.name + " diverged with it";
  }
  quality.diverged_rates = {others.begin(), others.end()};
  std::ranges::sort(quality.diverged_rates, {},
                    [](const std::string& rate) { return std::strtod(rate.c_str(), nullptr); });
  if (finished.rates > 1 || !others.empty()) quality.best_rate = finished.rate;
}

}  // namespace

Quality quality_of(const SuggestQuestion& question, const PlanMethod& method) {
  Quality quality;
  double samples = 0;
  const Scores finished = scores_of(question, method, samples);
  judge_divergence(question, method, finished, quality);
  if (!finished.empty()) quality.goodness = goodness(question.runs[question.basis].record.metric, finished.mean());
  samples = 0;
  const Scores reference = scores_of(question, question.methods.front(), samples);
  if (reference.empty()) return quality;
  const Scores own = scores_of(question, method, samples);
  if (own.empty() || method.name == question.methods.front().name) return quality;
  const Metric& metric = question.runs[question.basis].record.metric;
  const double ours = own.mean(), theirs = reference.mean();
  const double least = is_accuracy(metric) ? 0.01 : 0.01 * std::abs(theirs);
  const double behind = goodness(metric, theirs) - goodness(metric, ours);
  quality.is_known = true;
  quality.is_one_seed_each = own.seeds() == 1 && reference.seeds() == 1;
  quality.sentence = (is_accuracy(metric) ? "" : "test " + metric.name + " ") +
                     "after the same samples: " + text_of(method.name, own, metric) + ", " +
                     text_of(question.methods.front().name, reference, metric);
  if (quality.why_not.empty() && behind > least && !may_be_chance(reference, own, metric))
    quality.why_not = quality.sentence;
  return quality;
}

}  // namespace eave
