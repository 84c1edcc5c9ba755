// Implements notes_on of report/compare/comparison.h: what a reader must know before believing a report.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/compare/comparison.h"
#include "report/record/config.h"
#include "report/record/metric.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

std::string on_unfinished(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const RunRecord& run : comparison.runs) {
    if (run.end != RunEnd::kFinished) names.push_back(run.name + " (" + word_of(run.end) + ")");
  }
  return names.empty() ? "" : "Not finished, and in no mean: " + listed(names) + ".";
}

std::string on_lost_lines(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const RunRecord& run : comparison.runs)
    if (run.lost_lines > 0) names.push_back(run.name + " (" + count_text(run.lost_lines, "line") + ")");
  if (names.empty()) return "";
  return "Lines of metrics.jsonl are missing, because the run could not write them, so its curves, its shares of time "
         "and its costs to the target are coarse or wrong: " +
         listed(names) + ".";
}

// "a (2, then 3 ranks)"
std::string on_changed_ranks(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const RunRecord& run : comparison.runs) {
    if (run.ranks_in_turn.size() < 2) continue;
    std::string numbers;
    for (const int ranks : run.ranks_in_turn) numbers += (numbers.empty() ? "" : ", then ") + std::to_string(ranks);
    names.push_back(run.name + " (" + numbers + " ranks)");
  }
  if (names.empty()) return "";
  return "Runs were resumed on another number of ranks (--resume elastic), so their times and bytes are those of all "
         "these ranks, and they have no speed-up: " +
         listed(names) + ".";
}

// "4 ranks with 1 thread each on 2 cores of host a"; "" if each thread has a core.
std::string shortage_of_cores(const std::string& name, const RanksOfHost& host, int threads) {
  const auto cores = static_cast<int>(host.cores.size());
  if (host.ranks * threads <= cores) return "";
  return count_text(host.ranks, "rank") + " with " + count_text(threads, "thread") + (host.ranks == 1 ? "" : " each") +
         " on " + count_text(cores, "core") + (name.empty() ? "" : " of host " + name);
}

std::string on_shared_cores(const Comparison& comparison) {
  std::set<std::string> shortages;
  for (const RunRecord& run : comparison.runs) {
    const auto threads = static_cast<int>(std::clamp(number_in(run.settings, "threads"), 1.0, 1024.0));
    for (const auto& [name, host] : run.ranks_of_hosts) shortages.insert(shortage_of_cores(name, host, threads));
  }
  shortages.erase("");
  if (shortages.empty()) return "";
  return "Ranks shared cores, so times and speed-ups are not those of ranks with cores of their own: " +
         listed({shortages.begin(), shortages.end()}) + ".";
}

std::string on_data(const Comparison& comparison) {
  std::set<std::string> data;
  for (const Variant& variant : comparison.variants) {
    const std::string identity = setting_in(variant.settings, "data-identity");
    data.insert(setting_in(variant.settings, "data") + " with " + setting_in(variant.settings, "train-samples") +
                " training and " + setting_in(variant.settings, "test-samples") + " test samples" +
                (identity.empty() ? "" : " (identity " + identity + ")"));
  }
  if (data.size() < 2) return "";
  return "The data differ, and " + comparison.metric.name +
         " on one says nothing of that on another: " + listed({data.begin(), data.end()}) + ".";
}

std::string on_learning_rates(const Comparison& comparison) {
  const auto is_by_test = [](const Variant& variant) { return variant.chosen_by_test; };
  if (std::ranges::none_of(comparison.variants, is_by_test)) return "";
  const std::string& name = comparison.metric.name;
  return "No validation " + name + " was recorded: learning rates were chosen by test " + name +
         ", which favours methods that tried more of them (--validation-share records one).";
}

std::string on_repeated_seeds(const Comparison& comparison) {
  std::vector<std::string> labels;
  for (const Variant& variant : comparison.variants)
    if (variant.seeds.size() < variant.finished.size()) labels.push_back(variant.label);
  if (labels.empty()) return "";
  return "A seed stands there more than once, and runs of the same seed are not independent, so their mean counts as "
         "one: " +
         listed(labels) + ".";
}

std::string on_copies(const Comparison& comparison) {
  std::vector<std::string> labels;
  for (const Variant& variant : comparison.variants) {
    if (variant.are_copies) labels.push_back(variant.label);
  }
  if (labels.empty()) return "";
  return "Runs of several seeds are copies of one another to the last digit, so the program seems not to use its "
         "seed (plan.seed): " +
         listed(labels) + ".";
}

std::string why_no_speedup(const Comparison& comparison, const Variant& variant) {
  if (variant.changed_ranks) return "a run was resumed on another number of ranks";
  std::set<std::string> names;
  for (const Variant& one : comparison.variants) {
    if (one.ranks > 1 || !one.chosen || one.batch_per_rank != variant.batch_per_rank) continue;
    if (one.changed_ranks) return "the run of one rank was resumed on another number of ranks";
    for (const std::string& name : machine_differences(one, variant)) names.insert(name);
  }
  if (names.empty()) return "there is no finished run of one rank with the same batch per rank";
  return "the runs of one rank with the same batch per rank differ in " + listed({names.begin(), names.end()});
}

std::string on_speedups(const Comparison& comparison) {
  std::map<std::string, std::set<std::string>> batches;  // by the reason
  for (const Variant& variant : comparison.variants) {
    if (variant.ranks > 1 && variant.accuracy && !variant.speedup) {
      batches[why_no_speedup(comparison, variant)].insert(
          setting_in(variant.settings, "batch") +
          (setting_in(variant.settings, "batch-means") == "total" ? " in all" : ""));
    }
  }
  std::string text;
  for (const auto& [why, of_why] : batches)
    text += (text.empty() ? "No speed-up is given" : " No speed-up is given") +
            (of_why.contains("") ? "" : " for batch " + listed({of_why.begin(), of_why.end()})) + ": " + why + ".";
  return text;
}

// For each rank the seconds that all other ranks together waited for it, in the mean over the finished runs.
std::vector<double> waits_for_ranks(const Comparison& comparison, const Variant& variant) {
  std::vector<double> seconds;
  for (const std::size_t run : variant.finished) {
    const std::vector<RankTimes>& times = comparison.runs[run].summary->times_of_ranks;
    seconds.resize(std::max(seconds.size(), times.size()));
    for (std::size_t rank = 0; rank < times.size(); ++rank)
      seconds[rank] += times[rank].seconds_waited_for / static_cast<double>(variant.finished.size());
  }
  return seconds;
}

// Mean training time of the finished runs since they began or were resumed, as the waits of ranks.
double seconds_of_waits(const Comparison& comparison, const Variant& variant) {
  std::vector<double> seconds;
  for (const std::size_t run : variant.finished)
    seconds.push_back(comparison.runs[run].summary->seconds - comparison.runs[run].seconds_before);
  return mean_of(seconds);
}

// "allreduce for rank 1 (12.3 s of 13.0 s)"; "" if waits were short, or no rank caused nearly all of them.
std::string wait_for_one(const Comparison& comparison, const Variant& variant) {
  constexpr double kLeastShareOfTime = 0.1, kNearlyAll = 0.8;
  const std::vector<double> waits = waits_for_ranks(comparison, variant);
  const double all = std::accumulate(waits.begin(), waits.end(), 0.0);
  const double least = kLeastShareOfTime * seconds_of_waits(comparison, variant) * static_cast<double>(waits.size());
  if (waits.empty() || !(all > least)) return "";
  const auto longest = std::ranges::max_element(waits);
  if (*longest < kNearlyAll * all) return "";
  const auto is_resumed = [&](std::size_t run) { return comparison.runs[run].seconds_before > 0; };
  return variant.label + " for rank " + std::to_string(longest - waits.begin()) + " (" + decimal_text(*longest, 1) +
         " s of " + decimal_text(all, 1) + " s" +
         (std::ranges::any_of(variant.finished, is_resumed) ? " since it was resumed" : "") + ")";
}

std::string on_a_slow_rank(const Comparison& comparison) {
  std::vector<std::string> waits;
  for (const Variant& variant : comparison.variants)
    if (variant.chosen && variant.seconds) waits.push_back(wait_for_one(comparison, variant));
  std::erase(waits, "");
  if (waits.empty()) return "";
  return "Nearly all waiting was for one slow rank (seconds of one run, summed over the ranks that waited): " +
         listed(waits) + ".";
}

std::string on_few_evaluations(const Comparison& comparison) {
  constexpr std::size_t kEnough = 10;
  std::vector<std::string> labels;
  for (const Variant& variant : comparison.variants) {
    if (variant.chosen && variant.accuracy && variant.evaluations < kEnough)
      labels.push_back(variant.label + " (" + std::to_string(variant.evaluations) + ")");
  }
  if (labels.empty()) return "";
  return "Evaluated fewer than " + std::to_string(kEnough) +
         " times, so that curves and costs to the target are coarse (--evaluations, or run.evaluate in a program of "
         "your own): " +
         listed(labels) + ".";
}

std::string on_edges(const Comparison& comparison) {
  std::vector<std::string> edges;
  for (const Variant& variant : comparison.variants) {
    for (const std::string& edge : variant.edges)
      if (variant.chosen) edges.push_back(variant.label + ": " + edge);
  }
  if (edges.empty()) return "";
  return "The best value lies at the edge of what was tried, so a better one may lie outside (--widen tries the "
         "next): " +
         listed(edges) + ".";
}

std::string on_tuning(const Comparison& comparison) {
  std::vector<std::string> costs;
  bool is_unequal = false;
  std::size_t rates = 0;
  for (const Variant& variant : comparison.variants) {
    const RateTuning& tuning = variant.tuning;
    if (!variant.chosen) continue;
    is_unequal = is_unequal || (rates > 0 && tuning.rates.size() != rates);
    rates = tuning.rates.size();
    if (tuning.runs == 0) continue;
    costs.push_back(variant.label + ": " + std::to_string(rates) + " rates, " + decimal_text(tuning.seconds, 1) +
                    " s in " + std::to_string(tuning.runs) + (tuning.runs == 1 ? " run" : " runs"));
  }
  if (costs.empty()) return "";
  return "Learning rates were tuned; runs at rates that were not chosen took: " + listed(costs) + "." +
         (is_unequal ? " Not all methods tried equally many." : "");
}

std::string on_tuned_options(const Comparison& comparison) {
  std::vector<std::string> costs;
  for (const Variant& variant : comparison.variants) {
    for (const std::string& cost : variant.option_tuning) costs.push_back(variant.label + ", " + cost);
  }
  return costs.empty() ? "" : "Other values of a method's own options took, besides the best: " + listed(costs) + ".";
}

// Mean over the variant's runs, each at its end; nothing if a run has none.
std::optional<double> end_of_moving_average(const Comparison& comparison, const Variant& variant) {
  std::vector<double> scores;
  for (const std::size_t run : variant.finished) {
    const std::vector<EvaluationPoint>& evaluations = comparison.runs[run].evaluations;
    if (evaluations.empty() || !evaluations.back().record.ema) return std::nullopt;
    scores.push_back(evaluations.back().record.ema->accuracy);
  }
  return scores.empty() ? std::nullopt : std::optional(mean_of(scores));
}

std::string on_moving_averages(const Comparison& comparison) {
  std::vector<std::string> ends;
  for (const Variant& variant : comparison.variants) {
    const std::optional<double> average = end_of_moving_average(comparison, variant);
    if (!variant.chosen || !average || !variant.accuracy) continue;
    ends.push_back(variant.label + ": " + score_text(comparison.metric, *average) +
                   " (the consensus: " + score_text(comparison.metric, variant.accuracy->mean) + ")");
  }
  if (ends.empty()) return "";
  return "The moving average of the consensus (--ema-decay) ended with test " + comparison.metric.name + " " +
         listed(ends) + ". It is in no table and no verdict.";
}

std::string on_chance(const Comparison& comparison) {
  const auto is_tested = [](const MethodCell& cell) {
    return std::ranges::any_of(cell.by, [](const auto& each) {
      const MeasuredRanking& measured = each.second;
      return measured.bar == Bar::kNone && std::ranges::any_of(measured.ranking.contrasts, &Contrast::is_known);
    });
  };
  if (std::ranges::none_of(comparison.cells, is_tested)) return "";
  return "p and the intervals of leads are corrected for the number of methods compared (Holm's correction over all "
         "pairs). Seeds are compared in pairs if their results rise and fall together, otherwise by Welch's t-test.";
}

constexpr double kLeastShareOfEvaluations = 0.01;

std::string share_text(double share) { return decimal_text(100 * share, 1); }

}  // namespace

std::string evaluation_cost(const std::vector<RunRecord>& runs) {
  double training = 0, evaluating = 0, least = 1, most = 0;
  for (const RunRecord& run : runs) {
    if (run.end != RunEnd::kFinished || !run.summary) continue;
    double seconds = 0;
    for (const EvaluationPoint& point : run.evaluations) seconds += point.record.evaluation_seconds;
    training += run.summary->seconds;
    evaluating += seconds;
    const double whole = run.summary->seconds + seconds, share = whole > 0 ? seconds / whole : 0;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  if (evaluating <= 0 || evaluating < kLeastShareOfEvaluations * (training + evaluating)) return "";
  const std::string range = share_text(least) == share_text(most)
                                ? ""
                                : " (" + share_text(least) + " to " + share_text(most) + " % of a run)";
  return "Evaluations took " + decimal_text(evaluating, 1) + " s besides, " +
         share_text(evaluating / (training + evaluating)) + " % of the whole time" + range + ".";
}

std::vector<std::string> notes_on(const Comparison& comparison) {
  std::vector<std::string> notes = {on_unfinished(comparison),
                                    on_lost_lines(comparison),
                                    on_changed_ranks(comparison),
                                    on_shared_cores(comparison),
                                    on_data(comparison),
                                    on_other_settings(comparison),
                                    on_versions(comparison),
                                    on_hosts(comparison),
                                    on_learning_rates(comparison),
                                    on_repeated_seeds(comparison),
                                    on_copies(comparison),
                                    on_speedups(comparison),
                                    on_a_slow_rank(comparison),
                                    on_few_evaluations(comparison),
                                    on_edges(comparison),
                                    on_tuning(comparison),
                                    on_tuned_options(comparison),
                                    on_moving_averages(comparison),
                                    evaluation_cost(comparison.runs),
                                    on_chance(comparison)};
  std::erase(notes, "");
  return notes;
}

}  // namespace eave
