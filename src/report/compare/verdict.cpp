// Implements verdict_of of report/compare/comparison.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/comparison.h"
#include "report/record/config.h"
#include "report/record/metric.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr double kSignificant = 0.05;
constexpr std::size_t kMostCells = 6;

using Variants = std::vector<const Variant*>;
using Measure = std::optional<Estimate> Variant::*;

// Variants that are compared with each other: same place, number of ranks and batch per rank. Most ranks first.
using Cells = std::map<std::tuple<int, double, std::string>, Variants>;

Cells cells_of(const Comparison& comparison) {
  Cells cells;
  for (const Variant& variant : comparison.variants) {
    if (variant.chosen) cells[{-variant.ranks, variant.batch_per_rank, variant.place}].push_back(&variant);
  }
  return cells;
}

std::string counted(double count, const std::string& one) {
  return number_text(count) + " " + one + (count == 1 ? "" : "s");
}

std::string place_text(const Variant& variant) {
  return "With " + (variant.ranks == 1 ? "one rank and batch " : std::to_string(variant.ranks) + " ranks and batch ") +
         number_text(variant.batch_per_rank) + (variant.ranks == 1 ? "" : " per rank") +
         (variant.place.empty() ? "" : " (" + variant.place + ")") + ", ";
}

std::string chance_text(double p) { return p < 0.001 ? "p < 0.001" : "p = " + format("%.2g", p); }

bool is_certain(const std::optional<Difference>& difference) { return difference && difference->p < kSignificant; }

// How to write the numbers of one measure.
struct Style {
  double factor;
  int decimals;
  const char* unit;
  std::string text(double value) const { return decimal_text(factor * value, decimals); }
};

constexpr Style kPercent = {100, 2, " %"};
constexpr Style kSeconds = {1, 1, " s"};

// Four significant digits of a value like `like`, if the metric is not accuracy.
Style style_of(const Metric& metric, double like) {
  if (is_accuracy(metric)) return kPercent;
  const double magnitude = like == 0 ? 0 : std::floor(std::log10(std::abs(like)));
  return {1, static_cast<int>(std::clamp(3 - magnitude, 0.0, 9.0)), ""};
}

// "86.12 % test accuracy", "test perplexity 17.31"
std::string test_score(const Metric& metric, double value) {
  const Style style = style_of(metric, value);
  if (is_accuracy(metric)) return style.text(value) + " % test accuracy";
  return "test " + metric.name + " " + style.text(value);
}

// "95 % interval 89.10 to 89.50, 3 seeds"
std::string certainty(const Estimate& value, const Style& style) {
  if (!value.low) return "one run";
  return "95 % interval " + style.text(*value.low) + " to " + style.text(*value.high) + ", " +
         counted(static_cast<double>(value.n), "seed");
}

// "0.42 points more than allreduce (0.10 to 0.70, p = 0.02)"
std::string lead_text(const Difference& lead, const Style& style, const std::string& how, const std::string& whom) {
  const double sign = lead.mean < 0 ? -1 : 1;
  const double near = std::min(sign * lead.low, sign * lead.high), far = std::max(sign * lead.low, sign * lead.high);
  return style.text(std::abs(lead.mean)) + how + whom + " (" + style.text(near) + " to " + style.text(far) + ", " +
         chance_text(lead.p) + ")";
}

double spread(const Variants& cell, Measure measure) {
  double low = INFINITY, high = 0;
  for (const Variant* variant : cell) {
    if (!(variant->*measure)) return INFINITY;
    low = std::min(low, (variant->*measure)->mean);
    high = std::max(high, (variant->*measure)->mean);
  }
  return high > 0 ? (high - low) / high : INFINITY;
}

// The value of an option that all variants of the cell have; "" if it is missing or differs.
std::string shared_setting(const Variants& cell, const std::string& name) {
  const std::string text = setting_in(cell.front()->settings, name);
  const bool is_shared =
      std::ranges::all_of(cell, [&](const Variant* variant) { return setting_in(variant->settings, name) == text; });
  return is_shared ? text : "";
}

// "after 5 epochs": the budget that all variants of the cell share; "" if they share none.
std::string budget_of(const Variants& cell, const std::vector<RunRecord>& runs) {
  constexpr double kAlikeSamples = 0.01, kAlike = 0.05;
  const Variant& first = *cell.front();
  if (spread(cell, &Variant::samples) <= kAlikeSamples) {
    const RunRecord& run = runs[first.finished.front()];
    if (run.train_samples == 0) return "after " + counted(static_cast<double>(run.summary->samples), "sample");
    const double epochs = run.summary->epochs;
    return "after " + counted(std::round(100 * epochs) / 100, "epoch");
  }
  // A run checks its budget 20 times per epoch, so it ends a little later than the budget.
  if (const std::string time = shared_setting(cell, "stop-after-time"); !time.empty()) return "after " + time;
  if (const std::string bytes = shared_setting(cell, "stop-after-bytes"); !bytes.empty()) {
    return "after " + bytes + " sent by a rank";
  }
  if (spread(cell, &Variant::seconds) <= kAlike) return "after " + format("%.3g s", first.seconds->mean);
  if (spread(cell, &Variant::bytes_per_rank) <= kAlike) return "after the same bytes per rank";
  return "";
}

std::string different_budgets(const Variants& cell) {
  std::string text;
  for (const Variant* variant : cell) {
    text += (text.empty() ? "" : ", ") + variant->method + " " + format("%.0f", variant->samples->mean) +
            " samples in " + decimal_text(variant->seconds->mean, 1) + " s";
  }
  return text;
}

bool stopped_at_accuracy(const Variants& cell) {
  return std::ranges::any_of(cell,
                             [](const Variant* variant) { return variant->settings.contains("stop-at-accuracy"); });
}

// A clause for each method after the second with a significant difference: " It has 1.20 points more than local-sgd
// tau=10 (0.80 to 1.60, p = 0.001), and …."
std::string left_behind(const Variants& ranked, Measure measure, const Style& style, const std::string& how) {
  std::string text;
  for (std::size_t i = 2; i < ranked.size(); ++i) {
    const auto lead = difference(*(ranked[0]->*measure), *(ranked[i]->*measure));
    if (!is_certain(lead)) continue;
    text += (text.empty() ? " It has " : ", and ") + lead_text(*lead, style, how, ranked[i]->method);
  }
  return text.empty() ? "" : text + ".";
}

std::string accuracy_sentence(const Metric& metric, const Variants& cell, const std::string& budget) {
  Variants ranked = cell;
  std::ranges::stable_sort(ranked, std::greater{},
                           [&](const Variant* variant) { return goodness(metric, variant->accuracy->mean); });
  const Variant &best = *ranked[0], &next = *ranked[1];
  const auto lead = difference(*best.accuracy, *next.accuracy);
  const Style style = style_of(metric, best.accuracy->mean);
  const std::string score = test_score(metric, best.accuracy->mean) + " " + budget;
  const std::string than = metric.lower_is_better ? " less than "
                           : is_accuracy(metric)  ? " points more than "
                                                  : " more than ";
  if (!lead) {
    return place_text(best) + best.method + " is ahead with " + score + ", " +
           style.text(std::abs(best.accuracy->mean - next.accuracy->mean)) + than + next.method +
           "; but one run of a method proves nothing: repeat with more seeds.";
  }
  const std::string numbers = score + " (" + certainty(*best.accuracy, style) + ")";
  const std::string behind = left_behind(ranked, &Variant::accuracy, style, than);
  if (is_certain(lead)) {
    return place_text(best) + best.method + " won: " + numbers + ", " + lead_text(*lead, style, than, next.method) +
           "." + behind;
  }
  return place_text(best) + "no method won on test " + metric.name + ": " + best.method + " has " + numbers +
         "; its lead of " + lead_text(*lead, style, is_accuracy(metric) ? " points over " : " over ", next.method) +
         " may be chance." + behind;
}

std::string accuracy_verdict(const Metric& metric, const Variants& cell, const std::vector<RunRecord>& runs) {
  if (stopped_at_accuracy(cell)) return "";
  const std::string budget = budget_of(cell, runs);
  if (!budget.empty()) return accuracy_sentence(metric, cell, budget);
  return place_text(*cell.front()) + (is_accuracy(metric) ? "test accuracies" : "values of test " + metric.name) +
         " name no winner, for budgets differ: " + different_budgets(cell) + ".";
}

std::string never_there(const Variants& cell) {
  std::string names;
  for (const Variant* variant : cell) {
    if (!variant->seconds_to_target) names += (names.empty() ? "" : ", ") + variant->method;
  }
  return names.empty() ? "" : " Not every run got there: " + names + ".";
}

std::string time_verdict(const Metric& metric, const Variants& cell, const Target& target) {
  Variants ranked = cell;
  std::erase_if(ranked, [](const Variant* variant) { return !variant->seconds_to_target; });
  if (ranked.empty()) return "";
  std::ranges::stable_sort(ranked, {}, [](const Variant* variant) { return variant->seconds_to_target->mean; });
  const Variant& best = *ranked[0];
  const Estimate& seconds = *best.seconds_to_target;
  const std::string goal = is_accuracy(metric) ? format("%.4g", 100 * target.accuracy) + " % test accuracy"
                                               : "test " + named_score(metric, target.accuracy);
  const std::string time = decimal_text(seconds.mean, 1) + " s";
  if (ranked.size() == 1) {
    return place_text(best) + "only " + best.method + " came to " + goal + " in every run, in " + time + " (" +
           certainty(seconds, kSeconds) + ")." + never_there(cell);
  }
  const Variant& next = *ranked[1];
  const auto lead = difference(seconds, *next.seconds_to_target);
  if (!lead) {
    return place_text(best) + best.method + " came to " + goal + " first, in " + time + ", " + next.method + " in " +
           decimal_text(next.seconds_to_target->mean, 1) +
           " s; but one run of a method proves nothing: repeat with more seeds." + never_there(cell);
  }
  const std::string numbers = time + " (" + certainty(seconds, kSeconds) + ")";
  const auto lead_over = [&](const char* how) { return lead_text(*lead, kSeconds, how, next.method); };
  const std::string behind = left_behind(ranked, &Variant::seconds_to_target, kSeconds, " s less than ");
  if (is_certain(lead)) {
    return place_text(best) + best.method + " was the fastest to " + goal + ": " + numbers + ", " +
           lead_over(" s less than ") + "." + behind + never_there(cell);
  }
  return place_text(best) + "no method was surely the fastest to " + goal + ": " + best.method + " took " + numbers +
         "; its lead of " + lead_over(" s over ") + " may be chance." + behind + never_there(cell);
}

// The best result of one rank, which a job of several ranks has to beat.
std::string one_rank_sentence(const Comparison& comparison, const Variant& like) {
  const Variant* best = nullptr;
  for (const Variant& one : comparison.variants) {
    const bool fits = one.chosen && one.ranks == 1 && share_machine(one, like) && one.accuracy;
    if (fits && (!best || !is_as_good(comparison.metric, best->accuracy->mean, one.accuracy->mean))) best = &one;
  }
  if (!best) return "";
  const Style style = style_of(comparison.metric, best->accuracy->mean);
  return "One rank alone had " + test_score(comparison.metric, best->accuracy->mean) + " (" + best->method +
         ", batch " + number_text(best->batch_per_rank) + ", " + format("%.0f", best->samples->mean) + " samples in " +
         decimal_text(best->seconds->mean, 1) + " s, " + certainty(*best->accuracy, style) + ").";
}

}  // namespace

std::vector<std::string> verdict_of(const Comparison& comparison) {
  std::vector<std::string> sentences;
  std::size_t cells = 0;
  const Variant* first = nullptr;
  for (const auto& [unused, cell] : cells_of(comparison)) {
    if (cell.size() < 2 || ++cells > kMostCells) continue;
    if (!first) first = cell.front();
    sentences.push_back(accuracy_verdict(comparison.metric, cell, comparison.runs));
    if (comparison.target) sentences.push_back(time_verdict(comparison.metric, cell, *comparison.target));
  }
  std::erase(sentences, "");
  if (first && first->ranks > 1) sentences.push_back(one_rank_sentence(comparison, *first));
  std::erase(sentences, "");
  if (cells > kMostCells) {
    sentences.push_back(counted(static_cast<double>(cells - kMostCells), "more setting") +
                        " of ranks and batch: see the table.");
  }
  if (!sentences.empty()) return sentences;
  const bool any = std::ranges::any_of(comparison.variants, &Variant::chosen);
  return {any ? "No two methods ran with the same ranks, batch, model and data: no winner can be named."
              : "No run finished: nothing can be said of which method is better."};
}

}  // namespace eave
