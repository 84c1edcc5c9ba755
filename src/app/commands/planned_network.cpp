#include "app/commands/planned_network.h"

#include <algorithm>

#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "eave/check.h"
#include "report/record/config.h"

namespace eave {
namespace {

// A setting of the run's shaped link, parsed as eave train does.
double shaped(const PlanRun& run, const std::string& option, OptionType type) {
  const std::string text = setting_in(run.settings, option);
  if (text.empty()) return 0;
  const Reading<double> reading = type == OptionType::kRate ? read_rate(text) : read_seconds(text);
  if (reading.value) return *reading.value;
  throw Error(ExitCode::kBadData, "the run's --" + option + " is " + text + ": expected " + reading.expected);
}

double positive(const OptionValues& values, const std::string& option, double value) {
  if (!(value > 0)) refuse_option(values, option, "expected more than 0");
  return value;
}

void choose(double& figure, std::string& source, double value, const char* from) {
  figure = value;
  source = from;
}

}  // namespace

std::vector<std::string> planned_names() {
  std::vector<std::string> names;
  for (const CommunicatorKind& kind : communicator_kinds())
    if (!kind.traits.only_one_rank) names.push_back(kind.name);
  return names;
}

std::string describe_plugin_left_out(const std::map<std::string, std::string>& settings,
                                     const std::vector<std::string>& planned) {
  const std::string method = setting_in(settings, "communicator"), plugin = setting_in(settings, "plugin");
  if (plugin.empty() || setting_in(settings, "plugin-file").empty()) return "";
  if (std::ranges::find(planned, method) != planned.end()) return "";
  return "the run's own method, " + method + ", is left out; to see it too, give --plugin " + plugin +
         " and name the method in --communicators";
}

const CommunicatorKind* find_method(const std::string& name) {
  const auto found = std::ranges::find(communicator_kinds(), name, &CommunicatorKind::name);
  return found == communicator_kinds().end() ? nullptr : &*found;
}

const CommunicatorKind& planned_method(const OptionValues& values, const std::string& name) {
  const CommunicatorKind* const kind = find_method(name);
  if (kind && !kind->traits.only_one_rank) return *kind;
  const std::vector<std::string> known = planned_names();
  refuse_option(values, "communicators",
                "'" + name + "' cannot be planned; expected some of " + comma_list(known) + did_you_mean(name, known));
}

std::optional<ExchangePattern> exchange_pattern_of(const std::string& communicator) {
  const CommunicatorKind* const kind = find_method(communicator);
  return kind ? std::optional(kind->traits.exchanges) : std::nullopt;
}

std::string waits_of(const std::map<std::string, std::string>& settings) {
  const CommunicatorKind* const kind = find_method(setting_in(settings, "communicator"));
  if (kind == nullptr) return "";
  for (const auto& [option, value] : kind->waits_with)
    if (is_same_value(setting_in(settings, option), value)) return "--" + option + " " + value;
  return "";
}

std::vector<OptionSpec> cluster_options() {
  return {
      {"ranks-per-host", OptionType::kInteger, "", "ranks on each host, which share its link (default: as in the run)"},
      {"network-rate", OptionType::kRate, "",
       "nominal rate of a host's link; headers and acknowledgements use 7 % of it (default: the run's, else 10gbit)"},
      {"network-delay", OptionType::kSeconds, "",
       "one-way delay of a message between hosts (default: the run's, else 50us)"},
      {"host-rate", OptionType::kRate, "",
       "rate at which a rank sends to ranks of its host (default: the run's, else 4GB/s)"},
      {"message-time", OptionType::kSeconds, "5us", "processor time for each message"}};
}

void take_from_run(PlanReport& report) {
  const PlanRun& run = report.run;
  PlanNetwork& network = report.network;
  PlanSources& sources = report.sources;
  const double rate = shaped(run, "shape-rate", OptionType::kRate),
               delay = shaped(run, "shape-delay", OptionType::kSeconds);
  network.ranks_per_host = std::max(1, run.ranks / std::max(1, run.hosts));
  network.payload = kPayloadOfEthernet;
  sources = {"assumed", "assumed", "assumed", "assumed", "as in the run"};
  const auto take_rate = [&](double value, const char* from) {
    choose(network.bytes_per_second, sources.rate, value, from);
    network.payload = 1;
  };
  if (rate > 0) take_rate(rate, "that of the run's shaped link");
  if (delay > 0) choose(network.delay_seconds, sources.delay, delay, "that of the run's shaped link");
  if (rate > 0 || delay > 0) {
    network.ranks_per_host = 1;
    sources.ranks_per_host = "the run shaped a link for each rank";
    return;
  }
  const double measured = run.exchange_bytes_per_second.value_or(0);
  if (measured == 0) return;
  if (run.hosts == 1) choose(network.host_bytes_per_second, sources.host_rate, measured, "measured by the run");
  if (run.hosts > 1 && run.hosts == run.ranks) take_rate(measured, "measured by the run");
}

void take_given(const OptionValues& values, PlanReport& report) {
  PlanNetwork& network = report.network;
  PlanSources& sources = report.sources;
  const auto take_rate = [&](const std::string& option, double& figure, std::string& source) {
    if (values.has(option))
      choose(figure, source, positive(values, option, values.bytes_per_second(option)), "as given");
  };
  take_rate("network-rate", network.bytes_per_second, sources.rate);
  if (values.has("network-rate")) network.payload = kPayloadOfEthernet;
  take_rate("host-rate", network.host_bytes_per_second, sources.host_rate);
  if (values.has("network-delay"))
    choose(network.delay_seconds, sources.delay, values.seconds("network-delay"), "as given");
  network.message_seconds = values.seconds("message-time");
  if (values.given("message-time")) sources.messages = "as given";
  if (!values.has("ranks-per-host")) return;
  network.ranks_per_host = static_cast<int>(values.integer("ranks-per-host", 1, 1 << 16));
  if (network.ranks_per_host == 1 && values.has("host-rate"))
    refuse_option(values, "host-rate", "has no effect with --ranks-per-host 1: no two ranks share a host");
  sources.ranks_per_host = "as given";
}

}  // namespace eave
