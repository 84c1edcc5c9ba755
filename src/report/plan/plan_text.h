// Writes a plan as tables, as sentences, and as JSON:
//
//   {"run", "measured": {"communicator", "ranks", "hosts", "steps", "step_seconds", "samples_per_step", "sum_bytes",
//    "hidden_share"}, "network": {"bytes_per_second", "delay_seconds", "host_bytes_per_second", "message_seconds",
//    "ranks_per_host"}, "assumptions": [sentences],
//    "plans": [{"communicator", "transport": of sums, else "", "tau", "global_tau": of easgd-tree, "center_ranks",
//      "rows": [{… fields as PlanRow}]}]}
#pragma once

#include <string>
#include <vector>

#include "report/plan/plan_model.h"
#include "report/plan/plan_run.h"

namespace eave {

struct Plan {
  PlanMethod method;
  std::vector<PlanRow> rows;
};

// The source of each figure of the network: "as given", "measured by the run", …
struct PlanSources {
  std::string rate, delay, host_rate, messages, ranks_per_host;
};

struct PlanReport {
  std::string directory;
  PlanRun run;
  PlanNetwork network;
  PlanSources sources;
  std::vector<Plan> plans;
};

std::vector<std::string> plan_assumptions(const PlanReport& report);  // sentences
std::string plan_text(const PlanReport& report);
std::string plan_json(const PlanReport& report);

}  // namespace eave
