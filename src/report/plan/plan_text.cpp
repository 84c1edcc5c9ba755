#include "report/plan/plan_text.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "report/plan/plan_ranking.h"
#include "report/plan/plan_simulation.h"
#include "report/record/json.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

double step_seconds(const PlanRun& run) { return PeriodTimes(run.basis.step_seconds, 1).mean(); }

std::string transport_of(const PlanMethod& method) {
  return !sums_over_all(method.pattern) ? "" : method.sums_by_host ? "mpi" : "mpi-flat";
}

std::string rate_text(double bytes_per_second) { return human_bytes(bytes_per_second) + "/s"; }

std::string describe_payload(const PlanNetwork& network) {
  return network.payload == 1 ? "" : format(", %.0f %% of it values, the rest frames", 100 * network.payload);
}

std::string describe_network(const PlanReport& report) {
  const PlanNetwork& network = report.network;
  const PlanSources& sources = report.sources;
  return format("network: %s, %s each way per host (%s)%s, delay %s (%s); within a host %s per rank (%s);",
                bits_per_second_text(network.bytes_per_second).c_str(), rate_text(network.bytes_per_second).c_str(),
                sources.rate.c_str(), describe_payload(network).c_str(), duration_text(network.delay_seconds).c_str(),
                sources.delay.c_str(), rate_text(network.host_bytes_per_second).c_str(), sources.host_rate.c_str()) +
         format(" %s for each message (%s); ranks per host: %d (%s)", duration_text(network.message_seconds).c_str(),
                sources.messages.c_str(), network.ranks_per_host, sources.ranks_per_host.c_str());
}

std::string describe_bytes(const PlanRun& run) {
  return format("a sum carries %s (%s), other exchanges %s", human_bytes(run.basis.sum_bytes).c_str(),
                run.is_sum_measured ? "from the bytes that the run sent" : "float32 parameters, not compressed",
                human_bytes(run.basis.parameter_bytes).c_str());
}

std::string describe_longest(const PlanReport& report) {
  const auto count = static_cast<long long>(report.run.steps);
  int most = 0;
  for (const Plan& plan : report.plans)
    for (const PlanRow& row : plan.rows) most = std::max(most, row.ranks);
  std::string text = "ranks scatter independently of each other, each like one of those measured";
  if (most > count)
    text += format("; none is slower than the slowest of %lld measured steps, also among %d", count, most);
  return text;
}

bool has(const PlanReport& report, ExchangePattern kind) {
  return std::ranges::any_of(report.plans, [&](const Plan& plan) { return plan.method.pattern == kind; });
}

// Says which methods wait for each exchange, as the run did.
std::vector<std::string> describe_waits(const PlanReport& report) {
  std::vector<std::string> all;
  for (const Plan& plan : report.plans) {
    const PlanMethod& method = plan.method;
    if (method.waits_with.empty()) continue;
    const std::string sentence = method.name + " waits for each exchange, as the run did with " + method.waits_with;
    if (std::ranges::find(all, sentence) == all.end()) all.push_back(sentence);  // a method may have two plans
  }
  return all;
}

// A plan for fewer ranks than measured simulates the first ones. Says so if a slower rank is among those left out.
std::string describe_ranks_left_out(const PlanReport& report) {
  constexpr double kMuchSlower = 1.1;
  std::vector<double> means;
  for (const std::vector<double>& seconds : report.run.basis.step_seconds) means.push_back(mean_of(seconds));
  const std::size_t slowest = static_cast<std::size_t>(std::ranges::max_element(means) - means.begin());
  std::string names;
  std::size_t most = 0;  // ranks of such a plan
  for (const Plan& plan : report.plans) {
    using enum ExchangePattern;
    const ExchangePattern pattern = plan.method.pattern;
    if (pattern != kHiddenSums && pattern != kTree && pattern != kPairs) continue;
    std::size_t here = 0;
    for (const PlanRow& row : plan.rows) {
      const auto ranks = static_cast<std::size_t>(row.ranks);
      if (ranks < 2 || ranks > slowest) continue;
      const double longest = *std::max_element(means.begin(), means.begin() + row.ranks);
      if (means[slowest] > kMuchSlower * longest) here = std::max(here, ranks);
    }
    if (here > 0) names += (names.empty() ? "" : ", ") + plan.method.name;
    most = std::max(most, here);
  }
  if (names.empty()) return "";
  return format(
      "on up to %zu ranks, %s run on the first ranks of the run, without rank %zu, which computes %s ms a step: "
      "if it takes part, these plans are too fast",
      most, names.c_str(), slowest, decimal_text(1e3 * means[slowest], 3).c_str());
}

Json to_json(const PlanRow& row, const PlanMethod& method, double alone) {
  return {{"ranks", row.ranks},
          {"step_seconds", row.step_seconds},
          {"straggling_seconds", row.straggling_seconds},
          {"exchange_seconds", row.exchange_seconds},
          {"samples_per_second", row.samples_per_second},
          {"efficiency", row.efficiency},
          {"bytes_per_rank", row.bytes_per_rank},
          {"link_bytes", row.link_bytes},
          {"bound", word_of(row.bound)},
          {"speed", row.samples_per_second / alone},
          {"waiting_share", (row.straggling_seconds + row.exchange_seconds) / row.step_seconds},
          {"model_error", model_error(method.pattern)}};
}

Json to_json(const Plan& plan, double alone) {
  Json rows = Json::array();
  for (const PlanRow& row : plan.rows) rows.push_back(to_json(row, plan.method, alone));
  Json object = {{"communicator", plan.method.name},
                 {"transport", transport_of(plan.method)},
                 {"tau", plan.method.tau},
                 {"center_ranks", plan.method.center_ranks}};
  if (plan.method.pattern == ExchangePattern::kTree) object["global_tau"] = plan.method.global_tau;
  object["rows"] = rows;
  return object;
}

}  // namespace

std::string title_of(const PlanReport& report, const PlanMethod& method) {
  return title_of(method, report.run.basis.is_sum_compressed ? 1 : report.network.ranks_per_host);
}

std::string title_of(const PlanMethod& method, int ranks_per_host) {
  std::string text = method.name;
  if (method.pattern != ExchangePattern::kGradientSums && method.pattern != ExchangePattern::kNone)
    text += format(", tau %lld", static_cast<long long>(method.tau));
  if (method.pattern == ExchangePattern::kTree)
    text += format(", global-tau %lld", static_cast<long long>(method.global_tau));
  if (method.center_ranks > 0) text += format(", center-ranks %d", method.center_ranks);
  if (sums_over_all(method.pattern) && ranks_per_host > 1)
    text += method.sums_by_host ? ", hierarchical (mpi)" : ", flat (mpi-flat)";
  return text;
}

std::string plan_shortness(const PlanReport& report) {
  constexpr double kShortSeconds = 1;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  double computed = 0;
  for (const std::vector<double>& seconds : report.run.basis.step_seconds) {
    fewest = std::min(fewest, seconds.size());
    computed = std::max(computed, std::accumulate(seconds.begin(), seconds.end(), 0.0));
  }
  computed *= static_cast<double>(report.run.steps_per_record);
  std::int64_t tau = 1;
  for (const Plan& plan : report.plans) tau = std::max(tau, plan.method.tau);
  if (computed < kShortSeconds)
    return format(
        "the run is too short to plan well: its ranks computed for %.3f s, in which a pause of the machine "
        "weighs much; let it train for 10 s",
        computed);
  if (static_cast<std::int64_t>(fewest) < 4 * tau)
    return format(
        "the run is short: a rank has %lld measured steps, fewer than 4 times tau %lld, so scatter is "
        "overstated; let it train for more steps",
        static_cast<long long>(fewest), static_cast<long long>(tau));
  return "";
}

std::vector<std::string> plan_assumptions(const PlanReport& report) {
  const PlanRun& run = report.run;
  std::vector<std::string> all = {
      format("computing: %s of %d rank%s on %d host%s, mean %s ms, %.0f samples each; it stays as measured,",
             count_text(run.steps, "step").c_str(), run.workers, run.workers == 1 ? "" : "s", run.hosts,
             run.hosts == 1 ? "" : "s", decimal_text(1e3 * step_seconds(run), 3).c_str(), run.basis.samples_per_step) +
          " so ranks that shared cores are planned as sharing them",
      describe_longest(report), describe_network(report),
      "a switch that holds nobody up; a sum goes directly between all pairs: bytes of a ring, delays of two messages",
      describe_bytes(run)};
  if (run.basis.is_sum_compressed && report.network.ranks_per_host > 1)
    all.emplace_back("compressed sums go directly between all ranks: a host does not add up those of its ranks first");
  if (const std::string shortness = plan_shortness(report); !shortness.empty()) all.push_back(shortness);
  if (run.steps_per_record > 1) all.emplace_back("the run wrote means over several steps, so scatter is understated");
  if (has(report, ExchangePattern::kGradientSums))
    all.push_back(format("gradients travel behind %.0f %% of a step (%s)", 100 * run.basis.hidden_share,
                         run.is_hidden_measured ? "measured" : "assumed"));
  if (has(report, ExchangePattern::kTree)) all.emplace_back("in a tree, the ranks of a host are a group");
  for (const std::string& sentence : describe_waits(report)) all.push_back(sentence);
  if (const std::string left_out = describe_ranks_left_out(report); !left_out.empty()) all.push_back(left_out);
  if (has(report, ExchangePattern::kRequests))
    all.emplace_back(
        "asynchronous ranks exchange at the same time, as they begin; where their steps drift apart they are up to 15 "
        "% faster");
  all.emplace_back("left out: evaluations, checkpoints, what communication takes from computing beyond the run's");
  return all;
}

std::string plan_text(const PlanReport& report) {
  std::string text = ranking_table(report) + "\nassumed:\n";
  for (const std::string& sentence : plan_assumptions(report)) text += "- " + printable(sentence) + "\n";
  const std::string conclusion = ranking_conclusion(report);
  if (conclusion.empty()) return text;
  return text + "\n" + printable(conclusion) + "\n" +
         (has_several_taus(report) ? "The methods have different taus: --tau N plans all of them with the same.\n"
                                   : "");
}

std::string plan_json(const PlanReport& report) {
  const PlanRun& run = report.run;
  const PlanNetwork& network = report.network;
  Json plans = Json::array();
  for (const Plan& plan : report.plans) plans.push_back(to_json(plan, one_rank_rate(run.basis)));
  const Json object = {{"format", 1},
                       {"run", report.directory},
                       {"measured",
                        {{"communicator", run.communicator},
                         {"ranks", run.ranks},
                         {"hosts", run.hosts},
                         {"steps", run.steps},
                         {"step_seconds", step_seconds(run)},
                         {"samples_per_step", run.basis.samples_per_step},
                         {"sum_bytes", run.basis.sum_bytes},
                         {"hidden_share", run.basis.hidden_share}}},
                       {"network",
                        {{"bytes_per_second", network.bytes_per_second},
                         {"delay_seconds", network.delay_seconds},
                         {"host_bytes_per_second", network.host_bytes_per_second},
                         {"message_seconds", network.message_seconds},
                         {"ranks_per_host", network.ranks_per_host},
                         {"payload", network.payload}}},
                       {"assumptions", plan_assumptions(report)},
                       {"plans", plans},
                       {"ranking", ranking_sentences(report)}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace eave
