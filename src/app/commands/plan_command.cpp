// Implements `eave plan`: predicts runs with other numbers of ranks from a short run.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "app/commands/planned_network.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/main/plugins.h"
#include "app/options/shared_options.h"
#include "base/files/output_file.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "communicator/support/plugin.h"
#include "eave/check.h"
#include "eave/communicator.h"
#include "report/plan/plan_text.h"
#include "report/record/config.h"

namespace eave {

CommandLine plan_command_line() {
  CommandLine line(
      "usage: eave plan RUN_DIR [options]\n\nPredicts step time, efficiency and bytes for other numbers of ranks "
      "and other communicators from a short run. Uses how long\nthe run's ranks computed, how much they sent, and the "
      "rates of a network. RUN_DIR is the run's --run-dir.");
  line.add_group(
      "Predictions",
      {{"ranks", OptionType::kText, "2,4,8,64,512,4096", "numbers of ranks to predict"},
       {"communicators",
        OptionType::kText,
        "allreduce,local-sgd,easgd,easgd-tree,easgd-async,gossip",
        "methods to predict, by their names in eave train",
        {},
        planned_names()},
       {"tau", OptionType::kInteger, "",
        "number of steps from one exchange to the next (default: the run's with its own method, else the method's)"},
       {"global-tau", OptionType::kInteger, "",
        "easgd-tree: steps between exchanges with the global center, a multiple of tau (default: the run's with its "
        "own method, else 10 tau)"},
       {"pull-delay", OptionType::kInteger, "",
        "easgd-async: steps from an exchange to its pull, below tau (default: the run's, else 0)"},
       {"center-ranks", OptionType::kInteger, "0", "asynchronous methods: number of ranks that only keep the center"}});
  line.add_group("Cluster", cluster_options());
  line.add_group("Methods of your own", {plugin_option()});
  line.add_group("Output", {{"json", OptionType::kPath, "", "file for the predictions as JSON"}});
  return line;
}

namespace {

struct PlanRequest {
  std::filesystem::path directory;
  OptionValues values;
  std::vector<int> ranks;
  std::vector<PlanMethod> methods;  // tau 0 means the run's tau, or the default
};

std::vector<int> ranks_in(const OptionValues& values) { return integers_of(values, "ranks", 1, 1 << 16); }

PlanMethod method_of(const std::string& name, const OptionValues& values) {
  PlanMethod method{.name = name, .pattern = planned_method(values, name).traits.exchanges};
  if (method.pattern == ExchangePattern::kRequests)
    method.center_ranks = static_cast<int>(values.integer("center-ranks", 0, 1 << 16));
  return method;
}

// An option of a method that can be planned; nullptr if the method does not have it.
const OptionSpec* option_of(const PlanMethod& method, const std::string& name) {
  const CommunicatorKind* const kind = find_method(method.name);
  const auto option = std::ranges::find(kind->options, name, &OptionSpec::name);
  return option == kind->options.end() ? nullptr : &*option;
}

std::vector<std::string> names_with(const std::string& option) {
  std::vector<std::string> names;
  for (const std::string& name : planned_names())
    if (option_of({.name = name}, option)) names.push_back(name);
  return names;
}

void refuse_without_effect(const PlanRequest& request) {
  const auto refuse = [&](const std::string& option, const std::string& needs) {
    const auto has_effect = [&](const PlanMethod& method) { return option_of(method, option) != nullptr; };
    if (request.values.given(option) && std::ranges::none_of(request.methods, has_effect))
      refuse_option(request.values, option, "has no effect: --communicators names no " + needs);
  };
  refuse("tau", "method that exchanges every tau steps");
  refuse("global-tau", comma_list(names_with("global-tau")));
  refuse("pull-delay", comma_list(names_with("pull-delay")));
  refuse("center-ranks", "asynchronous method");
}

PlanRequest read_plan_request(const CommandLine& line, const std::vector<std::string>& words) {
  const std::string expected = "; expected eave plan RUN_DIR [options]";
  const auto [paths, values] = read_paths(line, words, "RUN_DIR", "no run directory given" + expected);
  if (paths.size() != 1) throw Error(ExitCode::kUsage, "more than one run directory given" + expected);
  PlanRequest request{paths.front(), values, {}, {}};
  require_loaded(request.values);
  check_output_options(request.values, {"json"});
  request.ranks = ranks_in(request.values);
  for (const std::string& name : list_of(request.values, "communicators"))
    request.methods.push_back(method_of(name, request.values));
  refuse_without_effect(request);
  for (const PlanMethod& method : request.methods) {
    if (method.center_ranks >= std::ranges::min(request.ranks))
      refuse_option(request.values, "center-ranks", "leaves no rank to train among the fewest of --ranks");
  }
  if (request.values.has("tau")) request.values.integer("tau", 1, 1 << 20);
  return request;
}

// The number of this setting in the run, if it had this method and the setting.
std::optional<std::int64_t> setting_of_run(const PlanMethod& method, const std::string& option, const PlanRun& run) {
  const std::string text = method.name == run.communicator ? setting_in(run.settings, option) : "";
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return {};
  return number;
}

// The pull's delay. If the run's value does not fit the planned tau, the nearest value that does is used.
std::int64_t pull_delay(const PlanMethod& method, const OptionValues& values, const PlanRun& run) {
  if (!values.has("pull-delay"))
    return std::clamp<std::int64_t>(setting_of_run(method, "pull-delay", run).value_or(0), 0, method.tau - 1);
  const std::int64_t delay = values.integer("pull-delay", 0);
  if (delay >= method.tau)
    refuse_option(values, "pull-delay", "expected less than tau, which is " + std::to_string(method.tau));
  return delay;
}

// A plug-in may call the steps between its exchanges otherwise than tau. Then only a run with it tells their number.
bool has_unknown_period(const PlanMethod& method) {
  const CommunicatorTraits& traits = find_method(method.name)->traits;
  return plugin_of(method.name) != nullptr && option_of(method, "tau") == nullptr && !traits.averages_gradients &&
         traits.exchanges != ExchangePattern::kGradientSums && traits.exchanges != ExchangePattern::kNone;
}

void set_measured_period(PlanMethod& method, const PlanRun& run) {
  if (!has_unknown_period(method)) return;
  if (method.name == run.communicator && run.steps_per_sum > 0) {
    method.tau = run.steps_per_sum;
    return;
  }
  print_warning("the plan lets " + method.name +
                " exchange in every step: it has no option --tau, and the run does not tell its period. Whoever wrote "
                "the plug-in should call the steps between its exchanges tau");
}

void set_periods(PlanMethod& method, const OptionValues& values, const PlanRun& run) {
  const OptionSpec* const option = option_of(method, "tau");
  if (!option) return set_measured_period(method, run);
  const auto count = [](const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return std::clamp<std::int64_t>(number, 1, 1 << 20);
  };
  const std::string of_run = method.name == run.communicator ? setting_in(run.settings, "tau") : "";
  method.tau = values.has("tau") ? values.integer("tau", 1) : count(of_run.empty() ? option->default_text : of_run);
  if (option_of(method, "pull-delay")) method.hiding_steps = 1 + pull_delay(method, values, run);
  if (method.pattern != ExchangePattern::kTree) return;
  const std::map<std::string, std::string> none, &settings = method.name == run.communicator ? run.settings : none;
  method.global_tau = values.has("global-tau") ? values.integer("global-tau", 1) : global_tau_of(settings, method.tau);
  if (method.global_tau % method.tau != 0)
    refuse_option(values, "global-tau", "expected a multiple of tau, which is " + std::to_string(method.tau));
}

Plan plan_of(const PlanMethod& method, const PlanReport& report, const std::vector<int>& ranks) {
  Plan plan{method, {}};
  for (const int count : ranks) plan.rows.push_back(predict(report.run.basis, report.network, method, count));
  return plan;
}

PlanReport make_report(const PlanRequest& request) {
  PlanReport report;
  report.directory = request.directory.string();
  report.run = read_plan_run(request.directory, exchange_pattern_of);
  take_from_run(report);
  take_given(request.values, report);
  for (PlanMethod method : request.methods) {
    set_periods(method, request.values, report.run);
    if (method.name == report.run.communicator) let_wait(method, waits_of(report.run.settings));
    report.plans.push_back(plan_of(method, report, request.ranks));
    const bool is_alike_on_all_transports = report.network.ranks_per_host <= 1 || report.run.basis.is_sum_compressed;
    if (is_alike_on_all_transports || !sums_over_all(method.pattern)) continue;
    method.sums_by_host = false;
    report.plans.push_back(plan_of(method, report, request.ranks));
  }
  return report;
}

}  // namespace

int plan_command(const std::vector<std::string>& words, const char* const* environment) {
  if (const int code = load_plugins(words, environment); code != 0) return code;
  const auto plan = [](const PlanRequest& request) {
    const PlanReport report = make_report(request);
    print_warning(describe_plugin_left_out(report.run.settings, list_of(request.values, "communicators")));
    std::fputs(plan_text(report).c_str(), text_stream(request.values, "json"));
    if (request.values.has("json"))
      write_file_atomically(OutputPath::of_person(request.values.text("json")), plan_json(report));
  };
  return run_request(plan_command_line(), words, read_plan_request, plan);
}

}  // namespace eave
