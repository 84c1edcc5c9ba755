// Writes a plan as a table and sentences, and as JSON:
//
//   {"run", "measured": {"communicator", "ranks", "hosts", "steps", "step_seconds", "samples_per_step", "sum_bytes",
//    "hidden_share"}, "network": {"bytes_per_second", "delay_seconds", "host_bytes_per_second", "message_seconds",
//    "ranks_per_host", "payload"}, "assumptions": [sentences],
//    "plans": [{"communicator", "transport": of sums, else "", "tau", "global_tau": of easgd-tree, "center_ranks",
//      "rows": [{… fields as PlanRow, "speed": against one rank, "waiting_share", "model_error"}]}],
//    "ranking": [sentences, one for each number of ranks]}
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

// "local-sgd, tau 10, hierarchical (mpi)". The transport is named if ranks share a host.
std::string title_of(const PlanMethod& method, int ranks_per_host);
// The same for a plan's row. Compressed sums are alike with all transports, so their rows name none.
std::string title_of(const PlanReport& report, const PlanMethod& method);
// A sentence if the run measured too little for its variation to be known; else "".
std::string plan_shortness(const PlanReport& report);
std::vector<std::string> plan_assumptions(const PlanReport& report);  // sentences
std::string plan_text(const PlanReport& report);
std::string plan_json(const PlanReport& report);

}  // namespace eave
