// Implements `eave suggest`: recommends a command line from short runs and the network's figures.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "app/commands/planned_network.h"
#include "app/commands/suggest_parts.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/main/plugins.h"
#include "app/options/shared_options.h"
#include "base/files/output_file.h"
#include "base/options/option_values.h"
#include "eave/check.h"
#include "report/plan/plan_network.h"
#include "report/plan/plan_run.h"
#include "report/record/config.h"
#include "report/suggest/suggestion.h"

namespace eave {

CommandLine suggest_command_line() {
  CommandLine line(
      "usage: eave suggest RUN_DIR... [options]\n\nRecommends a command line: which method, how many ranks, which tau "
      "and learning rate. Says why, where each figure was\nmeasured, and what is not known. RUN_DIR is the --run-dir "
      "of a short run, the --output of eave compare, or the directory\nof an eave.Run. Runs of one rank and of "
      "several, and of several methods, make the advice surer.");
  line.add_group("Question", {{"ranks", OptionType::kInteger, "",
                               "ranks that you could start (default: as many as the runs had at most)"},
                              {"communicators",
                               OptionType::kText,
                               "local-sgd,easgd,easgd-async",
                               "methods to consider beside allreduce, the first preferred where they are equally fast",
                               {},
                               planned_names()}});
  std::vector<OptionSpec> cluster = cluster_options();
  cluster.push_back({"bench-comm", OptionType::kPath, "",
                     "file that eave bench-comm printed on your hosts: gives --network-rate and --network-delay, or "
                     "--host-rate if it ran on one host"});
  line.add_group("Cluster", cluster);
  line.add_group("Methods of your own", {plugin_option()});
  line.add_group("Output", {{"json", OptionType::kPath, "", "file for the suggestion as JSON"}});
  return line;
}

namespace {

struct SuggestRequest {
  std::vector<std::filesystem::path> directories;
  OptionValues values;
  std::vector<std::string> methods;
};

SuggestRequest read_suggest_request(const CommandLine& line, const std::vector<std::string>& words) {
  const auto [paths, values] =
      read_paths(line, words, "RUN_DIR", "no run directory given; expected eave suggest RUN_DIR... [options]");
  SuggestRequest request{paths, values, {"allreduce"}};
  require_loaded(request.values);
  check_output_options(request.values, {"json"});
  for (const std::string& name : list_of(request.values, "communicators")) {
    planned_method(request.values, name);
    if (name != "allreduce") request.methods.push_back(name);
  }
  if (request.values.has("ranks")) request.values.integer("ranks", 1, 1 << 16);
  return request;
}

// One way to train with a method.
struct MethodVariant {
  std::int64_t tau = 1, global_tau = 10;
  std::map<std::string, std::string> options = {};
  auto operator<=>(const MethodVariant&) const = default;
};

// The values of tau that may be advised, and what the runs of this method had.
std::set<MethodVariant> variants_of(const std::string& name, bool has_tau, const std::vector<SuggestRun>& runs) {
  std::set<MethodVariant> variants;
  for (const std::int64_t tau : kPeriods) variants.insert(has_tau ? MethodVariant{tau, 10 * tau} : MethodVariant());
  for (const SuggestRun& run : runs) {
    const std::map<std::string, std::string>& settings = run.record.settings;
    if (setting_in(settings, "communicator") != name) continue;
    const double period = has_tau ? number_in(settings, "tau") : 1;
    if (!(period >= 1 && period <= (1 << 20))) continue;
    const auto tau = static_cast<std::int64_t>(period);
    variants.insert({tau, global_tau_of(settings, tau), run.options});
  }
  return variants;
}

// The methods with each tau that may be advised, and with the taus and options of the runs.
std::vector<PlanMethod> methods_to_try(const std::vector<std::string>& names, const std::vector<SuggestRun>& runs) {
  std::vector<PlanMethod> methods;
  for (const std::string& name : names) {
    const CommunicatorKind& kind = *find_method(name);
    const PlanMethod method{.name = name, .pattern = kind.traits.exchanges};
    const bool has_tau = method.pattern != ExchangePattern::kGradientSums && method.pattern != ExchangePattern::kNone &&
                         std::ranges::find(kind.options, "tau", &OptionSpec::name) != kind.options.end();
    for (const MethodVariant& variant : variants_of(name, has_tau, runs)) {
      methods.push_back(method);
      methods.back().tau = variant.tau;
      methods.back().global_tau = variant.global_tau;
      methods.back().options = variant.options;
      methods.back().hiding_steps = 1;
    }
  }
  return methods;
}

std::optional<BenchNetwork> bench_of(const OptionValues& values) {
  if (!values.has("bench-comm")) return std::nullopt;
  return read_bench_table(values.text("bench-comm"));
}

void take_bench(const BenchNetwork& bench, const OptionValues& values, PlanReport& report) {
  const std::string source = "measured in " + values.text("bench-comm");
  if (bench.hosts == 1) {
    if (values.has("host-rate"))
      refuse_option(values, "host-rate", "contradicts --bench-comm, which measured it; give one");
    report.network.host_bytes_per_second = bench.bytes_per_second;
    report.sources.host_rate = source;
    return;
  }
  if (values.has("network-rate"))
    refuse_option(values, "network-rate", "contradicts --bench-comm, which measured it; give one");
  report.network.bytes_per_second = bench.bytes_per_second;
  report.network.payload = 1;
  report.sources.rate = source;
  if (values.has("network-delay")) return;
  report.network.delay_seconds = *bench.delay_seconds;
  report.sources.delay = source;
}

int ranks_of(const OptionValues& values, const std::vector<SuggestRun>& runs) {
  if (values.has("ranks")) return static_cast<int>(values.integer("ranks", 1, 1 << 16));
  int most = 1;
  for (const SuggestRun& run : runs) most = std::max(most, run.record.ranks);
  if (most == 1)
    throw Error(ExitCode::kUsage, "the runs had one rank each: say how many ranks you could start, such as --ranks 4");
  return most;
}

constexpr std::array kNetworkOptions = {"network-rate", "network-delay", "host-rate", "ranks-per-host", "bench-comm"};

SuggestQuestion question_of(const SuggestRequest& request) {
  const std::optional<BenchNetwork> bench = bench_of(request.values);
  SuggestRuns read = read_suggest_runs(request.directories);
  for (const std::string& sentence : read.left_out) print_warning(sentence);
  SuggestQuestion question{.report = {}, .runs = std::move(read.runs), .basis = read.basis, .methods = {}};
  question.ranks = ranks_of(request.values, question.runs);
  const SuggestRun& basis = question.runs[question.basis];
  print_warning(describe_plugin_left_out(basis.record.settings, request.methods));
  question.report.directory = basis.name;
  question.report.run = *basis.plan;
  take_from_run(question.report);
  question.network_of_runs = question.report.network;
  question.is_network_given =
      std::ranges::any_of(kNetworkOptions, [&](const char* option) { return request.values.has(option); });
  take_given(request.values, question.report);
  if (bench) take_bench(*bench, request.values, question.report);
  question.methods = methods_to_try(request.methods, question.runs);
  return question;
}

}  // namespace

int suggest_command(const std::vector<std::string>& words, const char* const* environment) {
  if (const int code = load_plugins(words, environment); code != 0) return code;
  const auto answer = [](const SuggestRequest& request) {
    const SuggestQuestion question = question_of(request);
    const Suggestion suggestion = suggest(question);
    const RecommendedLine recommended = recommended_line(question, suggestion);
    const SuggestedCommands commands{recommended.command, recommended.averager, recommended.place,
                                     comparison_line(question, suggestion)};
    std::fputs(suggestion_text(suggestion, commands).c_str(), text_stream(request.values, "json"));
    if (request.values.has("json"))
      write_file_atomically(OutputPath::of_person(request.values.text("json")), suggestion_json(suggestion, commands));
  };
  return run_request(suggest_command_line(), words, read_suggest_request, answer);
}

}  // namespace eave
