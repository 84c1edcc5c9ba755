#include "report/compare/learning_rates.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "report/compare/measures.h"
#include "report/record/config.h"

namespace eave {
namespace {

class Choice {
 public:
  Choice(const std::vector<Variant*>& rivals, const std::vector<RunRecord>& runs) : rivals_(rivals), runs_(runs) {
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
    const std::string by = by_test_ ? "test accuracy" : "validation accuracy";
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
      sum += by_test_ ? runs_[run].summary->evaluation.center.accuracy : *last_validation(runs_[run]);
    }
    return sum / static_cast<double>(finished(variant));
  }

  const std::vector<Variant*>& rivals_;
  const std::vector<RunRecord>& runs_;
  std::set<std::string> common_;  // seeds
  bool by_test_ = false;
};

}  // namespace

void choose_learning_rates(std::vector<Variant>& variants, const std::vector<RunRecord>& runs) {
  std::map<std::map<std::string, std::string>, std::vector<Variant*>> rivals;
  for (Variant& variant : variants) {
    std::map<std::string, std::string> rest = variant.settings;
    rest.erase("lr");
    rivals[rest].push_back(&variant);
  }
  for (const auto& [unused, group] : rivals) Choice(group, runs).choose();
}

}  // namespace eave
