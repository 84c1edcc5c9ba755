#include "report/plan/plan_ranking.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/plan/plan_simulation.h"
#include "report/text/terminal.h"
#include "report/text/text_table.h"

namespace eave {
namespace {

std::string number(double value) { return decimal_text(value, value < 10 ? 3 : value < 1000 ? 1 : 0); }

std::vector<int> numbers_of_ranks(const PlanReport& report) {
  std::vector<int> numbers;
  if (report.plans.empty()) return numbers;
  for (const PlanRow& row : report.plans.front().rows) numbers.push_back(row.ranks);
  std::ranges::sort(numbers);
  return numbers;
}

bool is_untried(const PlanReport& report, int ranks) { return report.network.hosts(ranks) > kMostHostsMeasured; }

std::string error_text(const PlanReport& report, const RankedPlan& each) {
  if (each.row->ranks == 1) return "-";
  return (is_untried(report, each.row->ranks) ? "over " : "") + decimal_text(100 * each.error, 0) + " %";
}

std::vector<std::string> cells_of(const PlanReport& report, const RankedPlan& each) {
  const PlanRow& row = *each.row;
  const std::int64_t tokens = report.run.tokens_per_sample;
  return {std::to_string(row.ranks),
          title_of(report, each.plan->method),
          number(1e3 * row.step_seconds),
          decimal_text(row.samples_per_second * static_cast<double>(std::max<std::int64_t>(tokens, 1)), 0),
          decimal_text(each.speed, 2),
          decimal_text(100 * each.waiting_share, 1) + " %",
          number(1e-6 * row.bytes_per_rank),
          error_text(report, each),
          word_of(row.bound)};
}

// "46 % faster than allreduce (45.1 ms)"
std::string lead_text(const PlanReport& report, const RankedPlan& first, const RankedPlan& next) {
  const double lead = first.row->samples_per_second / next.row->samples_per_second - 1;
  const std::string faster = lead < 1 ? decimal_text(100 * lead, lead < 0.1 ? 1 : 0) + " % faster than "
                                      : decimal_text(1 + lead, 1) + " times as fast as ";
  return faster + title_of(report, next.plan->method) + " (" + number(1e3 * next.row->step_seconds) + " ms)";
}

std::string sentence(const PlanReport& report, int ranks) {
  const std::vector<RankedPlan> ranked = ranked_plans(report, ranks);
  const RankedPlan& first = ranked.front();
  const std::string name = title_of(report, first.plan->method);
  const std::string begin = "on " + count_text(ranks, "rank") + ", ";
  if (ranks == 1) return begin + "no method exchanges anything: the plan is the measured step";
  const std::string figures = number(1e3 * first.row->step_seconds) + " ms a step, " + decimal_text(first.speed, 2) +
                              " times as fast as one rank";
  if (ranked.size() == 1) return begin + name + " takes " + figures;
  std::string text = begin + name + " is first (" + figures + "), " + lead_text(report, first, ranked[1]);
  const std::string errors =
      "the model's error of " + error_text(report, first) + " and " + error_text(report, ranked[1]);
  text += is_ahead(first, ranked[1])
              ? "; the difference exceeds " + errors
              : "; the difference is within " + errors + ", so the plan does not tell them apart";
  return is_untried(report, ranks) ? text + " (on at most 8 hosts; no larger plan has been compared with a run)" : text;
}

// Numbers of ranks on which the same method is first, and as surely.
struct Verdict {
  std::string first, next;
  bool is_told = false;  // whether the lead exceeds the model's error
  std::vector<std::string> ranks, leads;
};

std::vector<Verdict> verdicts(const PlanReport& report) {
  std::vector<Verdict> all;
  for (const int ranks : numbers_of_ranks(report)) {
    const std::vector<RankedPlan> ranked = ranked_plans(report, ranks);
    if (ranks == 1 || ranked.size() < 2) continue;
    const auto title = [&](const RankedPlan& each) { return title_of(report, each.plan->method); };
    const double lead = ranked[0].row->samples_per_second / ranked[1].row->samples_per_second - 1;
    Verdict mine{title(ranked[0]), title(ranked[1]), is_ahead(ranked[0], ranked[1]), {}, {}};
    const bool is_new = all.empty() || all.back().first != mine.first || all.back().is_told != mine.is_told ||
                        (!mine.is_told && all.back().next != mine.next);
    if (is_new) all.push_back(std::move(mine));
    all.back().ranks.push_back(std::to_string(ranks));
    all.back().leads.push_back(decimal_text(100 * lead, lead < 0.1 ? 1 : 0) + " %");
  }
  return all;
}

// "4, 64 and 512"
std::string sentence_list(const std::vector<std::string>& words) {
  std::string text = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) text += (i + 1 < words.size() ? ", " : " and ") + words[i];
  return text;
}

std::string text_of(const Verdict& each) {
  const std::string where = " on " + sentence_list(each.ranks) + " ranks", lead = sentence_list(each.leads);
  if (each.is_told) return each.first + where + ", " + lead + " faster than the next, which exceeds the model's error";
  return each.first + " and " + each.next + where + " are not told apart: " + lead + " is within the model's error";
}

}  // namespace

double model_error(ExchangePattern pattern) {
  constexpr std::array kErrors = {0.00, 0.05, 0.03, 0.09, 0.08, 0.03, 0.03};  // as in ExchangePattern
  return kErrors.at(static_cast<std::size_t>(pattern));
}

double one_rank_rate(const PlanBasis& basis) {
  return basis.samples_per_step / PeriodTimes(basis.step_seconds, 1).mean();
}

std::vector<RankedPlan> ranked_plans(const PlanReport& report, int ranks) {
  std::vector<RankedPlan> all;
  const double alone = one_rank_rate(report.run.basis);
  for (const Plan& plan : report.plans) {
    for (const PlanRow& row : plan.rows) {
      if (row.ranks != ranks) continue;
      const double waiting = (row.straggling_seconds + row.exchange_seconds) / row.step_seconds;
      all.push_back({&plan, &row, row.samples_per_second / alone, waiting, model_error(plan.method.pattern)});
    }
  }
  std::ranges::stable_sort(all, std::greater{}, &RankedPlan::speed);
  return all;
}

bool is_ahead(const RankedPlan& first, const RankedPlan& next) {
  return first.row->samples_per_second * (1 - first.error) > next.row->samples_per_second * (1 + next.error);
}

std::string ranking_table(const PlanReport& report) {
  const std::string rate = report.run.tokens_per_sample > 0 ? "tokens/s" : "samples/s";
  TextTable table{
      {"ranks", "method", "step ms", rate, "speed", "waiting", "MB/rank/step", "model error", "bound by"}, {}, 2};
  for (const int ranks : numbers_of_ranks(report))
    for (const RankedPlan& each : ranked_plans(report, ranks)) table.rows.push_back(cells_of(report, each));
  return to_text(table);
}

std::vector<std::string> ranking_sentences(const PlanReport& report) {
  std::vector<std::string> all;
  for (const int ranks : numbers_of_ranks(report)) all.push_back(sentence(report, ranks));
  return all;
}

bool has_several_taus(const PlanReport& report) {
  std::set<std::int64_t> taus;
  for (const Plan& plan : report.plans)
    if (title_of(plan.method, 1) != plan.method.name) taus.insert(plan.method.tau);
  return taus.size() > 1;
}

std::string ranking_conclusion(const PlanReport& report) {
  const std::vector<Verdict> all = verdicts(report);
  if (all.empty()) return "";
  std::string text = "First by this plan, in time only: ";
  for (const Verdict& each : all) text += (&each == &all.front() ? "" : "; ") + text_of(each);
  const std::vector<int> numbers = numbers_of_ranks(report);
  if (is_untried(report, numbers.back()))
    text += " (plans for more than " + count_text(kMostHostsMeasured, "host") + " have not been compared with runs)";
  return text;
}

}  // namespace eave
