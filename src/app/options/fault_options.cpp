#include "app/options/fault_options.h"

#include <array>
#include <map>
#include <optional>

#include "base/options/near_words.h"
#include "base/options/number_text.h"
#include "base/options/option_checks.h"
#include "base/options/option_lists.h"
#include "base/options/quantities.h"
#include "eave/check.h"

namespace eave {
namespace {

struct FaultOfRank {
  int rank = 0;
  InjectedFault fault;
};

// Parses the parts of RANK:STEP:FAULT:ELEMENT:BIT. Returns nothing if a number is missing or out of range.
std::optional<FaultOfRank> read_fault(const std::vector<std::string>& parts, InjectedFault::Kind kind) {
  std::array<std::int64_t, 5> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 2) continue;
    const auto number = read_integer(parts[i]).value;
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  const auto [rank, step, unused, element, bit] = numbers;
  if (rank < 0 || rank > INT32_MAX || step < 1 || element < 0 || bit < 0 || bit > 31) return std::nullopt;
  FaultOfRank of_rank;
  of_rank.rank = static_cast<int>(rank);
  of_rank.fault.kind = kind;
  of_rank.fault.step = step - 1;
  of_rank.fault.element = element;
  of_rank.fault.bit = static_cast<int>(bit);
  return of_rank;
}

FaultOfRank parse_fault(const std::string& text, int ranks) {
  const std::map<std::string, InjectedFault::Kind, std::less<>> kinds = {
      {"nan-loss", InjectedFault::Kind::kNanLoss},
      {"nan-gradient", InjectedFault::Kind::kNanGradient},
      {"inf-gradient", InjectedFault::Kind::kInfGradient},
      {"flip-bit", InjectedFault::Kind::kFlippedBit}};
  const std::vector<std::string> parts = split_text(text, ':');
  const auto kind = parts.size() < 3 ? kinds.end() : kinds.find(parts[2]);
  const auto fault = parts.size() > 5 || kind == kinds.end() ? std::nullopt : read_fault(parts, kind->second);
  if (fault && fault->rank < ranks) return *fault;
  std::vector<std::string> words;
  for (const auto& [word, unused] : kinds) words.push_back(word);
  const bool is_unknown = parts.size() >= 3 && kind == kinds.end();
  throw Error(ExitCode::kUsage, "--inject-fault " + text +
                                    ": expected RANK:STEP:FAULT or RANK:STEP:FAULT:ELEMENT:BIT such as "
                                    "1:20:nan-gradient, with a rank below " +
                                    std::to_string(ranks) +
                                    ", steps from 1, and nan-loss, nan-gradient, inf-gradient or flip-bit" +
                                    (is_unknown ? did_you_mean(parts[2], words) : ""));
}

// Refuses a fault that would never happen.
void require_place(const std::string& text, const InjectedFault& fault, std::int64_t steps, std::int64_t parameters) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ExitCode::kUsage, "--inject-fault " + text + ": " + what + ", so it would never come");
  };
  if (fault.step >= steps) refuse("the run has " + count_text(steps, "step"));
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
