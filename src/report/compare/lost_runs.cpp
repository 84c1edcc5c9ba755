#include "report/compare/lost_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/options/number_text.h"

namespace eave {
namespace {

// The runs of one method, and those among them that count in no mean.
struct LostOfMethod {
  std::size_t runs = 0, lost = 0;
  std::set<RunEnd> ends;  // of the lost runs
};

LostOfMethod count_lost(const Comparison& comparison, std::vector<const Variant*> variants) {
  const bool is_measured = std::ranges::any_of(variants, [](const Variant* each) { return each->chosen; });
  if (is_measured) std::erase_if(variants, [](const Variant* each) { return !each->chosen; });
  LostOfMethod found;
  for (const Variant* variant : variants) {
    found.runs += variant->runs.size();
    found.lost += variant->lost.size();
    for (const std::size_t run : variant->lost) found.ends.insert(comparison.runs[run].end);
  }
  return found;
}

std::string how_they_ended(const std::set<RunEnd>& ends) {
  if (ends.size() > 1) return "diverged or failed";
  return word_of(*ends.begin());
}

// "8 of 10 runs of easgd tau=10 diverged"
std::string clause_of(const LostOfMethod& found, const std::string& method) {
  const std::string all = std::to_string(found.runs);
  const std::string count = found.lost < found.runs ? std::to_string(found.lost) + " of " + all + " runs"
                            : found.runs == 1       ? "the only run"
                                                    : "all " + all + " runs";
  return count + " of " + method + " " + how_they_ended(found.ends);
}

std::string joined(std::vector<std::string> clauses) {
  constexpr std::size_t kMostClauses = 5;
  if (clauses.size() > kMostClauses + 1) {
    const auto more = static_cast<std::int64_t>(clauses.size() - kMostClauses);
    clauses.resize(kMostClauses);
    clauses.push_back(count_text(more, "further method") + " lost runs");
  }
  std::string text;
  for (std::size_t i = 0; i < clauses.size(); ++i)
    text += (i == 0 ? "" : i + 1 < clauses.size() ? ", " : ", and ") + clauses[i];
  return text;
}

}  // namespace

std::string lost_runs(const Comparison& comparison, const Variant& like) {
  const auto key = [](const Variant& each) { return std::tuple(each.ranks, each.batch_per_rank, each.place); };
  std::map<std::string, std::vector<const Variant*>> methods;
  for (const Variant& variant : comparison.variants)
    if (key(variant) == key(like)) methods[variant.method].push_back(&variant);
  std::vector<std::string> clauses;
  for (const auto& [method, variants] : methods) {
    const LostOfMethod found = count_lost(comparison, variants);
    if (found.lost > 0) clauses.push_back(clause_of(found, method));
  }
  return joined(clauses);
}

std::string lost_methods(const Comparison& comparison) {
  std::map<std::string, std::pair<bool, bool>> methods;  // whether it has finished, and whether all its runs diverged
  for (const Variant& variant : comparison.variants) {
    auto& [has_finished, has_diverged] = methods.try_emplace(variant.method, false, true).first->second;
    has_finished = has_finished || !variant.finished.empty();
    for (const std::size_t run : variant.runs)
      has_diverged = has_diverged && comparison.runs[run].end == RunEnd::kDiverged;
  }
  std::string text;
  for (const auto& [method, ends] : methods) {
    if (ends.first) continue;
    text += (text.empty() ? "" : ", ") + method + (ends.second ? " diverged in all its runs" : " finished no run");
  }
  return text;
}

}  // namespace eave
