#include "app/fault_options.h"

#include <cstdio>
#include <map>

#include "base/option_checks.h"
#include "eave/check.h"

namespace eave {
namespace {

struct FaultOfRank {
  int rank = 0;
  InjectedFault fault;
};

FaultOfRank parse_fault(const std::string& text, int ranks) {
  const std::map<std::string, InjectedFault::Kind> kinds = {{"nan-loss", InjectedFault::Kind::kNanLoss},
                                                            {"nan-gradient", InjectedFault::Kind::kNanGradient},
                                                            {"inf-gradient", InjectedFault::Kind::kInfGradient},
                                                            {"flip-bit", InjectedFault::Kind::kFlippedBit}};
  FaultOfRank of_rank;
  InjectedFault& fault = of_rank.fault;
  char name[16] = {}, rest = 0;
  long long step = 0, element = 0;
  const int read =
      std::sscanf(text.c_str(), "%d:%lld:%15[a-z-]:%lld:%d%c", &of_rank.rank, &step, name, &element, &fault.bit, &rest);
  const auto kind = kinds.find(name);
  const bool fits =
      of_rank.rank >= 0 && of_rank.rank < ranks && step >= 1 && element >= 0 && fault.bit >= 0 && fault.bit < 32;
  if (read < 3 || read > 5 || kind == kinds.end() || !fits) {
    throw Error(ExitCode::kUsage, "--inject-fault " + text +
                                      ": expected RANK:STEP:FAULT or RANK:STEP:FAULT:ELEMENT:BIT such as "
                                      "1:20:nan-gradient, with a rank below " +
                                      std::to_string(ranks) +
                                      ", steps from 1, and nan-loss, nan-gradient, inf-gradient or flip-bit");
  }
  fault.kind = kind->second;
  fault.step = step - 1;
  fault.element = element;
  return of_rank;
}

// Where it would never be.
void require_place(const std::string& text, const InjectedFault& fault, std::int64_t steps, std::int64_t parameters) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ExitCode::kUsage, "--inject-fault " + text + ": " + what + ", so it would never come");
  };
  if (fault.step >= steps) refuse("the run has " + std::to_string(steps) + " steps");
  if (fault.element >= parameters) refuse("the elements of this model are 0 to " + std::to_string(parameters - 1));
}

void plan_comparison(const OptionValues& values, const CommunicatorTraits& traits, TrainingPlan& plan) {
  plan.replica_hash_every = values.integer("replica-hash-every", 0);
  plan.on_replica_fault = values.text("on-replica-fault") == "repair" ? OnReplicaFault::kRepair : OnReplicaFault::kStop;
  for (const char* name : {"replica-hash-every", "on-replica-fault"}) {
    if (!values.given(name) || (traits.exchanges_together && plan.replica_hash_every > 0)) continue;
    if (!traits.exchanges_together) {
      refuse_option(values, name, "has no effect: with this communicator nothing is the same bits on all ranks");
    }
    if (std::string(name) == "on-replica-fault")
      refuse_option(values, name, "has no effect: --replica-hash-every is 0");
  }
}

}  // namespace

std::vector<OptionSpec> fault_options() {
  return {
      {"replica-hash-every", OptionType::kInteger, "100",
       "compare what is to be the same bits on all ranks after so many steps, where they exchange together; 0: never"},
      {"on-replica-fault",
       OptionType::kText,
       "stop",
       "a rank that differs there ends the run, or gets the bits of the majority (repair)",
       {"stop", "repair"}},
      {"on-nonfinite",
       OptionType::kText,
       "skip",
       "a step whose loss or gradient is not finite is left out and counted (skip), ends the run (abort), or makes all "
       "ranks go back to the newest checkpoint (rollback), and end the run when they have gone back to that before",
       {"skip", "abort", "rollback"}},
      {"nonfinite-limit", OptionType::kInteger, "10",
       "skip: so many steps of a rank in a row that are not finite end the run, for training has diverged"}};
}

void plan_faults(const OptionValues& values, const CommunicatorTraits& traits, int rank, int workers,
                 std::int64_t parameters, TrainingPlan& plan) {
  const std::string& policy = values.text("on-nonfinite");
  plan.on_nonfinite = policy == "skip" ? OnNonfinite::kSkip : OnNonfinite::kAbort;
  plan.diverges_together = policy == "rollback";
  plan.nonfinite_limit = values.integer("nonfinite-limit", 1);
  if (plan.on_nonfinite == OnNonfinite::kAbort && values.given("nonfinite-limit")) {
    refuse_option(values, "nonfinite-limit",
                  "has no effect with --on-nonfinite " + policy + ", which acts on the first");
  }
  plan_comparison(values, traits, plan);
  if (!values.has("inject-fault")) return;
  const FaultOfRank of_rank = parse_fault(values.text("inject-fault"), workers);
  require_place(values.text("inject-fault"), of_rank.fault, plan.steps, parameters);
  if (of_rank.rank == rank) plan.fault = of_rank.fault;
}

}  // namespace eave
