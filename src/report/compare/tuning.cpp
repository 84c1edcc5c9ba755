#include "report/compare/tuning.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/significance.h"
#include "report/compare/tuned_options.h"
#include "report/record/config.h"
#include "report/record/metric.h"

namespace eave {

std::optional<double> last_validation(const RunRecord& run) {
  if (run.evaluations.empty() || !run.evaluations.back().record.validation) return std::nullopt;
  return run.evaluations.back().record.validation->accuracy;
}

namespace {

// "lr 0.3 is the largest of 3 tried"
std::string edge_text(const std::string& name, const std::string& value, bool is_largest, std::size_t tried) {
  return name + " " + value + " is the " + (is_largest ? "largest" : "smallest") + " of " + std::to_string(tried) +
         " tried";
}

// Training time: of a run that did not finish, up to the last step that it recorded.
double seconds_of(const RunRecord& run) {
  if (run.summary) return run.summary->seconds;
  return run.steps.empty() ? 0 : run.steps.back().seconds;
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
    tell_tuning(*best);
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

  void tell_tuning(Variant& best) const {
    RateTuning& tuning = best.tuning;
    for (const Variant* rival : rivals_) {
      tuning.rates.push_back(rival->learning_rate);
      if (rival == &best) continue;
      tuning.runs += rival->runs.size();
      for (const std::size_t run : rival->runs) tuning.seconds += seconds_of(runs_[run]);
    }
    std::ranges::sort(tuning.rates);
    if (tuning.rates.size() < 2) return;
    const bool is_largest = best.learning_rate == tuning.rates.back();
    if (is_largest || best.learning_rate == tuning.rates.front())
      best.edges.push_back(edge_text("lr", number_text(best.learning_rate), is_largest, tuning.rates.size()));
  }

  bool is_finished(std::size_t run) const { return runs_[run].end == RunEnd::kFinished; }

  std::size_t finished(const Variant& variant) const {
    const std::vector<std::size_t> all = counted(variant);
    return static_cast<std::size_t>(std::ranges::count_if(all, [&](std::size_t run) { return is_finished(run); }));
  }

  double score(const Variant& variant) const {
    SeededValues scores;
    for (const std::size_t run : counted(variant)) {
      if (!is_finished(run)) continue;
      const double value = by_test_ ? runs_[run].summary->evaluation.center.accuracy : *last_validation(runs_[run]);
      scores.seeds.push_back(setting_in(runs_[run].settings, "seed"));
      scores.values.push_back(goodness(runs_[run].metric, value));
    }
    return mean_of(by_seed(scores).values);
  }

  const std::vector<Variant*>& rivals_;
  const std::vector<RunRecord>& runs_;
  std::set<std::string> common_;  // seeds
  bool by_test_ = false;
};

// "tau: 3 values, 20.0 s in 6 runs": what the variants besides the best took.
std::string option_tuning(const std::vector<Variant*>& rivals, const Variant& best, const std::string& name,
                          const std::vector<RunRecord>& runs) {
  std::size_t count = 0;
  double seconds = 0;
  for (const Variant* rival : rivals) {
    if (rival == &best) continue;
    count += rival->runs.size() + rival->tuning.runs;
    seconds += rival->tuning.seconds;
    for (const std::size_t run : rival->runs) seconds += seconds_of(runs[run]);
  }
  return name + ": " + count_text(rivals.size(), "value") + ", " + decimal_text(seconds, 1) + " s in " +
         count_text(count, "run");
}

// Variants of one method that differ in this one option: says of the best of them what the others took, and marks it if
// its value lies at an edge. A value is no edge if the option accepts none beyond it.
void find_edge(const std::vector<Variant*>& rivals, const TunedOption& option, const std::vector<RunRecord>& runs) {
  if (rivals.size() < 2) return;
  const Metric& metric = runs.front().metric;
  const auto value = [&](const Variant* variant) { return number_in(variant->settings, option.name); };
  Variant* best = *std::ranges::max_element(rivals, {}, [&](const Variant* variant) {
    const std::optional<Estimate>& score = variant->validation ? variant->validation : variant->accuracy;
    return goodness(metric, score->mean);
  });
  best->option_tuning.push_back(option_tuning(rivals, *best, option.name, runs));
  const bool is_largest = value(best) == value(*std::ranges::max_element(rivals, {}, value));
  const bool is_smallest = value(best) == value(*std::ranges::min_element(rivals, {}, value));
  if (is_largest == is_smallest || is_last_value(option, value(best), is_largest)) return;
  best->edges.push_back(edge_text(option.name, setting_in(best->settings, option.name), is_largest, rivals.size()));
  best->option_edges.push_back({option.name, value(best), {}});
  for (const Variant* rival : rivals) best->option_edges.back().tried.push_back(value(rival));
}

void find_edges(std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  for (const TunedOption& option : tuned_options()) {
    std::map<std::map<std::string, std::string>, std::vector<Variant*>> rivals;
    for (Variant& variant : variants) {
      if (!variant.chosen || !variant.accuracy || setting_in(variant.settings, option.name).empty()) continue;
      std::map<std::string, std::string> rest = variant.settings;
      for (const char* each : {option.name, "lr"}) rest.erase(each);
      rivals[rest].push_back(&variant);
    }
    for (const auto& [unused, group] : rivals) find_edge(group, option, runs);
  }
}

}  // namespace

void choose_learning_rates(std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  std::map<std::map<std::string, std::string>, std::vector<Variant*>> rivals;
  for (Variant& variant : variants) {
    std::map<std::string, std::string> rest = variant.settings;
    rest.erase("lr");
    rivals[rest].push_back(&variant);
  }
  for (const auto& [unused, group] : rivals) LearningRateChoice(group, runs).choose();
  if (!runs.empty()) find_edges(variants, runs);
}

}  // namespace eave
