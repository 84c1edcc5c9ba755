// Which methods can be planned, and the figures of the network that `eave plan` and `eave suggest` use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eave/communicator.h"
#include "report/plan/plan_text.h"

namespace eave {

// Methods of one rank only are not planned: there is nobody to exchange with.
std::vector<std::string> planned_names();
const CommunicatorKind* find_method(const std::string& name);  // nullptr if there is none
// A method of --communicators. Throws Error(kUsage) if it cannot be planned.
const CommunicatorKind& planned_method(const OptionValues& values, const std::string& name);
// A warning if a plug-in brought the run's method, and the method is not among `planned`; else "". `settings`: the
// run's.
std::string describe_plugin_left_out(const std::map<std::string, std::string>& settings,
                                     const std::vector<std::string>& planned);
std::optional<ExchangePattern> exchange_pattern_of(const std::string& communicator);
// The setting with which the ranks of a run waited for each exchange: "--overlap off"; "" if they did not. `settings`:
// the run's.
std::string waits_of(const std::map<std::string, std::string>& settings);

// Options: --ranks-per-host, --network-rate, --network-delay, --host-rate, --message-time.
std::vector<OptionSpec> cluster_options();

// Sets report.network and report.sources by report.run: what it measured or imitated, else assumptions.
void take_from_run(PlanReport& report);
// The figures that the options give replace those.
void take_given(const OptionValues& values, PlanReport& report);

}  // namespace eave
