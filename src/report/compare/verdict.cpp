// Implements verdict_of of report/compare/comparison.h.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/comparison.h"
#include "report/compare/lost_runs.h"
#include "report/compare/number_style.h"
#include "report/compare/rankings.h"
#include "report/record/metric.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr std::size_t kMostCells = 6;

std::string counted(double count, const std::string& one) {
  return number_text(count) + " " + one + (count == 1 ? "" : "s");
}

std::string place_text(const Variant& variant) {
  const std::string batch = variant.batch_per_rank > 0 ? " and batch " + number_text(variant.batch_per_rank) +
                                                             (variant.ranks == 1 ? "" : " per rank")
                                                       : "";  // not recorded
  return "With " + (variant.ranks == 1 ? "one rank" : std::to_string(variant.ranks) + " ranks") + batch +
         (variant.place.empty() ? "" : " (" + variant.place + ")") + ", ";
}

std::string chance_text(double p) { return p < 0.001 ? "p < 0.001" : "p = " + format("%.2g", p); }

// "86.12 % test accuracy", "test perplexity 17.31"
std::string test_score(const Metric& metric, double value, const NumberStyle& style) {
  if (is_accuracy(metric)) return style.text(value) + " % test accuracy";
  return "test " + metric.name + " " + style.text(value);
}

// "95 % interval 89.10 to 89.50, 3 seeds"
std::string certainty(const Estimate& value, const NumberStyle& style) {
  if (!value.low) return "one seed";
  return "95 % interval " + style.end_text(*value.low, value.mean) + " to " + style.end_text(*value.high, value.mean) +
         ", " + counted(static_cast<double>(value.n), "seed");
}

// "0.10 to 0.70, p = 0.02". `ratio`: the value if it is a ratio, else 0.
std::string interval_text(double one, double other, const NumberStyle& style, double p, double ratio = 0) {
  return style.end_text(std::min(one, other), ratio) + " to " + style.end_text(std::max(one, other), ratio) + ", " +
         chance_text(p);
}

// The methods of a cell in the order of one measure, with the contrasts that the rule of significance gives.
struct Field {
  const Comparison& comparison;
  const MethodCell& cell;
  const MeasuredRanking& measured;
  const Variant& variant(std::size_t place) const { return comparison.variants[cell.variants[place]]; }
  const Variant& best() const { return variant(measured.ranking.order.front()); }
  const std::vector<Contrast>& contrasts() const { return measured.ranking.contrasts; }
  bool is_known() const { return std::ranges::all_of(contrasts(), &Contrast::is_known); }
  // Whether the scores may prove a winner. If not, why_unproven says why.
  bool may_be_proven() const { return is_known() && measured.bar == Bar::kNone; }
  // The next best; if no method is first, the best one that is not told apart.
  const Contrast& next() const {
    const auto found = std::ranges::find(contrasts(), false, &Contrast::is_apart);
    return found == contrasts().end() ? contrasts().front() : *found;
  }
};

// The style of a sentence about the best method. A lead that may be chance needs no decimals of its own.
NumberStyle style_showing(const Field& field, std::optional<Estimate> Variant::*measure, const NumberStyle& style) {
  const Estimate& best = *(field.best().*measure);
  std::vector<double> sizes = {half_of(best)};
  if (!field.contrasts().empty()) {
    const Contrast& next = field.next();
    if (next.is_apart || !next.is_known) sizes.push_back(best.mean - (field.variant(next.other).*measure)->mean);
  }
  return style.showing(sizes, best.mean);
}

// "; about 4 more seeds of each would tell them apart". "" if the other method lost runs: more seeds may be lost too.
std::string seeds_text(const Field& field) {
  const Contrast& contrast = field.next();
  if (!field.variant(contrast.other).lost.empty() || (contrast.p == 1 && !contrast.more_seeds)) return "";
  if (!contrast.more_seeds) return "; a thousand more seeds would hardly tell them apart";
  return "; at this scatter about " + counted(static_cast<double>(*contrast.more_seeds), "more seed") +
         " of each would tell them apart";
}

// A clause for each further method that is told apart: " It has 1.20 points more than local-sgd tau=10 (0.80 to 1.60, p
// = 0.001), and …." After a few, only their number.
template <typename Lead>
std::string left_behind(const Field& field, const std::string& verb, const Lead& lead) {
  constexpr std::size_t kMostClauses = 3;
  std::vector<std::string> clauses;
  for (const Contrast& contrast : field.contrasts())
    if (contrast.is_apart && &contrast != &field.next()) clauses.push_back(lead(contrast));
  if (clauses.empty()) return "";
  if (clauses.size() > kMostClauses + 1) {
    const auto more = static_cast<double>(clauses.size() - kMostClauses);
    clauses.resize(kMostClauses);
    clauses.push_back("is told apart from " + counted(more, "other method"));
  }
  std::string text = " It " + verb + " " + clauses.front();
  for (std::size_t i = 1; i < clauses.size(); ++i) text += (i + 1 < clauses.size() ? ", " : ", and ") + clauses[i];
  return text + ".";
}

// Sums of equal scores in another order of seeds differ in the last bit.
bool are_level(const Variant& a, const Variant& b) {
  const double least = std::max(std::abs(a.accuracy->mean), std::abs(b.accuracy->mean));
  return std::abs(a.accuracy->mean - b.accuracy->mean) <= 1e-12 * least;
}

std::string unproven_claim(const Field& field, const std::string& score, const std::string& lead) {
  const Variant &best = field.best(), &other = field.variant(field.contrasts().front().other);
  if (are_level(best, other)) return best.method + " and " + other.method + " are level with " + score;
  return best.method + " is ahead with " + score + ", " + lead;
}

// Why no winner can be named if the scores may not prove one.
std::string why_unproven(const Field& field) {
  if (field.measured.bar == Bar::kLostRuns) return "a method that loses runs is no winner";
  if (!field.is_known()) return "one seed of a method proves nothing: repeat with more seeds";
  if (field.measured.bar == Bar::kCopies)
    return "runs of several seeds are copies of one another and prove nothing: the program must use its seed "
           "(plan.seed)";
  return "one evaluation of each run names no winner: evaluate more often (--evaluations, or run.evaluate in a program "
         "of your own)";
}

// `claim`: "easgd is ahead with 85.00 % test accuracy, 0.50 points more than allreduce"
std::string unproven_score(const Field& field, const std::string& claim) {
  return place_text(field.best()) + claim + "; but " + why_unproven(field) + ".";
}

std::string score_sentence(const Field& field) {
  const Metric& metric = field.comparison.metric;
  const Variant& best = field.best();
  const NumberStyle style = style_showing(field, &Variant::accuracy, style_of(metric, best.accuracy->mean));
  const std::string score = test_score(metric, best.accuracy->mean, style) + " " + field.cell.budget;
  const std::string points = is_accuracy(metric) ? " points" : "";
  const std::string than = points + (metric.lower_is_better ? " less than " : " more than ");
  const auto lead = [&](const Contrast& contrast, const std::string& how) {
    const Variant& other = field.variant(contrast.other);
    const std::string size = style.text(std::abs(best.accuracy->mean - other.accuracy->mean)) + how + other.method;
    if (!contrast.is_known || !field.may_be_proven()) return size;
    const double sign = contrast.effect < 0 ? -1 : 1, most = is_accuracy(metric) ? 1 : INFINITY;
    const auto end = [&](double value) { return std::clamp(sign * value, -most, most); };
    return size + " (" + interval_text(end(contrast.low), end(contrast.high), style, contrast.p) + ")";
  };
  if (!field.may_be_proven())
    return unproven_score(field, unproven_claim(field, score, lead(field.contrasts().front(), than)));
  const std::string numbers = score + " (" + certainty(*best.accuracy, style) + ")";
  const std::string behind = left_behind(field, "has", [&](const Contrast& each) { return lead(each, than); });
  if (field.measured.has_first())
    return place_text(best) + best.method + " won: " + numbers + ", " + lead(field.next(), than) + "." + behind;
  if (const Variant& next = field.variant(field.next().other); are_level(next, best))
    return place_text(best) + "no method won on test " + metric.name + ": " + best.method + " has " + numbers +
           ", and " + next.method + " is level with it." + behind;
  return place_text(best) + "no method won on test " + metric.name + ": " + best.method + " has " + numbers +
         "; its lead of " + lead(field.next(), points + " over ") + " may be chance" + seeds_text(field) + "." + behind;
}

std::string different_budgets(const Field& field) {
  std::string text;
  for (std::size_t i = 0; i < field.cell.variants.size(); ++i) {
    const Variant& variant = field.variant(i);
    text += (text.empty() ? "" : ", ") + variant.method + " " + samples_text(field.comparison, variant.samples->mean) +
            " in " + decimal_text(variant.seconds->mean, 1) + " s";
  }
  return text;
}

std::string score_verdict(const Field& field) {
  const Metric& metric = field.comparison.metric;
  if (field.measured.bar == Bar::kStoppedAtScore) return "";
  if (field.contrasts().empty())
    return place_text(field.variant(0)) + "values of test " + metric.name +
           " name no winner, for some are not finite numbers.";
  if (field.measured.bar != Bar::kDifferentBudgets) return score_sentence(field);
  return place_text(field.variant(0)) + (is_accuracy(metric) ? "test accuracies" : "values of test " + metric.name) +
         " name no winner, for budgets differ: " + different_budgets(field) + ".";
}

std::string never_there(const Field& field, const Target& target) {
  const auto is_short_of_it = [&](std::size_t run) { return !reach(field.comparison.runs[run], target.accuracy); };
  std::string names;
  for (std::size_t i = 0; i < field.cell.variants.size(); ++i) {
    const Variant& variant = field.variant(i);
    if (!variant.seconds_to_target || std::ranges::any_of(variant.lost, is_short_of_it))
      names += (names.empty() ? "" : ", ") + variant.method;
  }
  return names.empty() ? "" : " Not every run got there: " + names + ".";
}

NumberStyle style_of_time(const Field& field) {
  const Estimate& best = *field.best().seconds_to_target;
  return style_showing(field, &Variant::seconds_to_target, style_of_seconds(best.mean));
}

// "in 4.0 s", "within 4.0 s"
std::string time_text(const Variant& variant, const NumberStyle& style) {
  return (variant.is_within ? "within " : "in ") + style.text(variant.seconds_to_target->mean) + " s";
}

std::string best_time(const Field& field) {
  const NumberStyle style = style_of_time(field);
  return time_text(field.best(), style) + " (" + certainty(*field.best().seconds_to_target, style) + ")";
}

// "2.00 times as fast as easgd (1.90 to 2.10, p < 0.001)". If the best method's time is an upper bound, the ratio is a
// lower one.
std::string times_as_fast(const Field& field, const Contrast& contrast) {
  const double ratio = 1 / contrast.effect, one = 1 / contrast.low, other = 1 / contrast.high;
  const NumberStyle style = contrast.is_apart ? kTimes.showing({ratio - 1}, ratio) : kTimes;
  return (field.best().is_within ? "at least " : "") + style.text(ratio) + " times as fast as " +
         field.variant(contrast.other).method + " (" + interval_text(one, other, style, contrast.p, ratio) + ")";
}

// Sentences for cases in which nobody is known to be first; "" if somebody may be.
std::string unproven_time(const Field& field, const std::string& goal) {
  const Variant &best = field.best(), &next = field.variant(field.contrasts().front().other);
  const NumberStyle style = style_of_time(field);
  const std::string times = best.method + " came to " + goal + " " + time_text(best, style) + ", " + next.method + " " +
                            time_text(next, style) + "; but ";
  if (!field.is_known() || field.measured.bar == Bar::kCopies || field.measured.bar == Bar::kLostRuns)
    return times + why_unproven(field) + ".";
  if (field.measured.bar == Bar::kOneEvaluation)
    return times +
           "one evaluation of each run does not tell which was first: evaluate more often (--evaluations, or "
           "run.evaluate in a program of your own).";
  if (field.measured.bar == Bar::kTooCoarse)
    return times +
           "a method came there before its first evaluation, so which was first is not known: evaluate more "
           "often (--evaluations, or run.evaluate in a program of your own), or choose a farther target (eave report "
           "--target).";
  return "";
}

std::string time_sentence(const Field& field, const std::string& goal) {
  if (const std::string unproven = unproven_time(field, goal); !unproven.empty()) return unproven;
  const Variant& best = field.best();
  const auto lead = [&](const Contrast& contrast) { return times_as_fast(field, contrast); };
  const std::string behind = left_behind(field, "was", lead);
  if (field.measured.has_first()) {
    return best.method + " was the fastest to " + goal + ": it came there " + best_time(field) + ", " +
           lead(field.next()) + "." + behind;
  }
  return "no method was surely the fastest to " + goal + ": " + best.method + " came there " + best_time(field) +
         "; that it was " + lead(field.next()) + " may be chance" + seeds_text(field) + "." + behind;
}

// If no method has a time to the target.
std::string nobody_there(const Field& field, const std::string& goal) {
  const Metric& metric = field.comparison.metric;
  double best = -INFINITY;
  for (std::size_t i = 0; i < field.cell.variants.size(); ++i) {
    if (field.variant(i).seconds_to_target) return "";
    for (const std::size_t run : field.variant(i).runs) best = std::max(best, best_score(field.comparison.runs[run]));
  }
  const std::string score = std::isfinite(best) ? score_text(metric, goodness(metric, best)) : "none";
  return place_text(field.variant(0)) + "no method came to " + goal + " in every run (best of any run: " + score + ").";
}

std::string time_verdict(const Field& field, const Target& target) {
  const Metric& metric = field.comparison.metric;
  const std::string goal = is_accuracy(metric) ? format("%.4g", 100 * target.accuracy) + " % test accuracy"
                                               : "test " + named_score(metric, target.accuracy);
  if (field.measured.ranking.order.empty()) return nobody_there(field, goal);
  const Variant& best = field.best();
  if (!field.contrasts().empty()) return place_text(best) + time_sentence(field, goal) + never_there(field, target);
  const std::string runs = best.finished.size() == best.runs.size() ? "every run" : "every finished run";
  return place_text(best) + "only " + best.method + " came to " + goal + " in " + runs + ", " + best_time(field) + "." +
         never_there(field, target);
}

// The best result of one rank, which a job of several ranks has to beat.
std::string one_rank_sentence(const Comparison& comparison, const Variant& like) {
  const Variant* best = nullptr;
  for (const Variant& one : comparison.variants) {
    const bool fits = one.chosen && one.ranks == 1 && share_machine(one, like) && one.accuracy;
    if (fits && (!best || !is_as_good(comparison.metric, best->accuracy->mean, one.accuracy->mean))) best = &one;
  }
  if (!best) return "";
  const double score = best->accuracy->mean;
  const NumberStyle style = style_of(comparison.metric, score).showing({half_of(*best->accuracy)}, score);
  return "One rank alone had " + test_score(comparison.metric, score, style) + " (" + best->method + ", " +
         (best->batch_per_rank > 0 ? "batch " + number_text(best->batch_per_rank) + ", " : "") +
         samples_text(comparison, best->samples->mean) + " in " + decimal_text(best->seconds->mean, 1) + " s, " +
         certainty(*best->accuracy, style) + ").";
}

std::string lost_sentence(const Comparison& comparison, const Variant& like) {
  const std::string lost = lost_runs(comparison, like);
  return lost.empty() ? "" : place_text(like) + lost + "; lost runs count in no mean.";
}

// Sentences about ranks and batches at which fewer than two methods have a finished run.
std::vector<std::string> lost_elsewhere(const Comparison& comparison) {
  const auto key = [](const Variant& each) { return std::tuple(each.ranks, each.batch_per_rank, each.place); };
  std::set<std::tuple<int, double, std::string>> told;
  for (const MethodCell& cell : comparison.cells) told.insert(key(comparison.variants[cell.variants.front()]));
  std::vector<std::string> sentences;
  for (const Variant& variant : comparison.variants)
    if (told.insert(key(variant)).second && !comparison.cells.empty())
      sentences.push_back(lost_sentence(comparison, variant));
  std::erase(sentences, "");
  return sentences;
}

std::string nothing_to_compare(const Comparison& comparison) {
  if (std::ranges::none_of(comparison.variants, &Variant::chosen))
    return "No run finished: nothing can be said of which method is better.";
  const std::string lost = lost_methods(comparison);
  if (lost.empty()) return "No two methods ran with the same ranks, batch, model and data: no winner can be named.";
  return lost + ": no two other methods ran with the same ranks, batch, model and data, so no winner can be named.";
}

}  // namespace

std::vector<std::string> verdict_of(const Comparison& comparison) {
  std::vector<std::string> sentences;
  const std::size_t shown = std::min(comparison.cells.size(), kMostCells);
  for (std::size_t i = 0; i < shown; ++i) {
    const MethodCell& cell = comparison.cells[i];
    sentences.push_back(score_verdict({comparison, cell, cell.by.at(Measure::kScore)}));
    if (comparison.target)
      sentences.push_back(time_verdict({comparison, cell, cell.by.at(Measure::kSecondsToTarget)}, *comparison.target));
    sentences.push_back(lost_sentence(comparison, comparison.variants[cell.variants.front()]));
  }
  const std::vector<std::string> elsewhere = lost_elsewhere(comparison);
  sentences.insert(sentences.end(), elsewhere.begin(), elsewhere.end());
  std::erase(sentences, "");
  if (shown > 0) {
    const Variant& first = comparison.variants[comparison.cells.front().variants.front()];
    if (first.ranks > 1) sentences.push_back(one_rank_sentence(comparison, first));
  }
  std::erase(sentences, "");
  if (comparison.cells.size() > shown) {
    sentences.push_back(counted(static_cast<double>(comparison.cells.size() - shown), "more setting") +
                        " of ranks and batch: see the table.");
  }
  if (sentences.empty()) sentences.push_back(nothing_to_compare(comparison));
  return sentences;
}

}  // namespace eave
