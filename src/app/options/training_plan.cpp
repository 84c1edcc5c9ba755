#include "app/options/training_plan.h"

#include <array>
#include <map>
#include <optional>

#include "app/options/method_checks.h"
#include "app/resume/checkpoint_location.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "communicator/support/plugin.h"
#include "communicator/support/plugin_checks.h"
#include "communicator/support/sync_batch_norm.h"
#include "eave/check.h"
#include "eave/communicator.h"

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
    throw Error(ExitCode::kUsage, "--inject-fault " + text + ": " + what + ", so the fault would never happen");
  };
  if (fault.step >= steps) refuse("the run has " + count_text(steps, "step"));
  if (fault.element >= parameters) refuse("the elements of this model are 0 to " + std::to_string(parameters - 1));
}

// One rank has no other to compare with, but a comparison gives it the options of several.
void plan_comparison(const OptionValues& values, const CommunicatorTraits& traits, int workers, TrainingPlan& plan) {
  plan.replica_hash_every = values.integer("replica-hash-every", 0);
  if (const Plugin* plugin = plugin_of(values.text("communicator"))) plan.plugin = name_of(*plugin);
  plan.on_replica_fault = values.text("on-replica-fault") == "repair" ? OnReplicaFault::kRepair : OnReplicaFault::kStop;
  refuse_useless_replica_checks(values, traits, workers);
}

void refuse_given(const OptionValues& values, const std::string& name, const std::string& with) {
  if (values.given(name)) throw Error(ExitCode::kUsage, "--" + name + " has no effect with " + with);
}

void refuse_without_norms(const OptionValues& values) {
  for (const char* name : {"batch-norm-statistics", "recompute-batches", "batch-norm"}) {
    refuse_given(values, name, "--model " + values.text("model") + ": it has no batch norm");
  }
}

NormStatistics statistics_of(const std::string& word) {
  if (word == "local") return NormStatistics::kLocal;
  return word == "recompute" ? NormStatistics::kRecompute : NormStatistics::kAverage;
}

}  // namespace

std::string methods_that_reset() {
  std::string names;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.traits.resets_to_center) names += (names.empty() ? "" : ", ") + kind.name;
  }
  return names;
}

CheckpointPlan plan_checkpoints(const OptionValues& values) {
  CheckpointPlan plan;
  if (!values.has("run-dir") || !values.flag("checkpoint")) return plan;
  plan.directory = checkpoint_directory(values).string();
  plan.is_named = values.has("checkpoint-dir");
  const std::string& every = values.text("checkpoint-every");
  const auto steps = read_integer(trimmed(every)).value;
  const auto seconds = read_seconds(trimmed(every)).value;
  if (steps.value_or(0) < 1 && (steps || !(seconds.value_or(0) > 0)))
    refuse_option(values, "checkpoint-every",
                  "expected a number of steps such as 500, or a time such as 90s, 10m or 1h");
  plan.every_steps = steps.value_or(0);
  plan.every_seconds = steps ? 0 : *seconds;
  plan.kept = values.integer("keep", 1, 1'000'000);
  if (values.has("keep-every")) plan.keep_every = values.integer("keep-every", 1);
  plan.is_required = values.flag("require-checkpoint");
  return plan;
}

SlowRank parse_slow_rank(const std::string& text, int ranks) {
  const std::vector<std::string> parts = split_text(text, ':');
  const bool has_form = parts.size() == 2 && parts[1].ends_with('x');
  const std::int64_t rank = has_form ? read_integer(parts[0]).value.value_or(-1) : -1;
  const double factor = has_form ? read_real(parts[1].substr(0, parts[1].size() - 1)).value.value_or(0) : 0;
  if (rank < 0 || rank >= ranks || !(factor >= 1 && factor <= 1000)) {
    throw Error(ExitCode::kUsage, "--slow-rank " + text + ": expected RANK:FACTORx such as 1:4x, with a rank below " +
                                      std::to_string(ranks) + " and a factor from 1 to 1000");
  }
  return {static_cast<int>(rank), factor};
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
  plan_comparison(values, traits, workers, plan);
  if (!values.has("inject-fault")) return;
  const FaultOfRank of_rank = parse_fault(values.text("inject-fault"), workers);
  require_place(values.text("inject-fault"), of_rank.fault, plan.steps, parameters);
  if (of_rank.rank == rank) plan.fault = of_rank.fault;
}

std::string describe_passed_fault(const OptionValues& values, int workers, std::int64_t first_step) {
  if (!values.has("inject-fault")) return "";
  const std::string& text = values.text("inject-fault");
  if (parse_fault(text, workers).fault.step >= first_step) return "";
  return "--inject-fault " + text + ": the run goes on after step " + std::to_string(first_step) +
         ", so the fault does not happen in it";
}

std::string describe_options_of_ranks(const OptionValues& values, const CommunicatorTraits& traits) {
  const bool has_one_model =
      !traits.has_center || (traits.exchanges == ExchangePattern::kNone && !traits.only_one_rank);
  std::string named;
  for (const std::string name : {"replica-hash-every", "on-replica-fault", "bucket-bytes", "stop-after-bytes",
                                 "average-at-end", "evaluate-workers"}) {
    if (!values.entries().contains(name) || (name == "evaluate-workers" && !has_one_model)) continue;
    const std::string& text = values.text(name);
    const bool is_off = text == values.entry(name).spec.default_text || (name == "replica-hash-every" && text == "0");
    if (!is_off) named += (named.empty() ? "--" : ", --") + name + " " + text;
  }
  return named.empty() ? "" : named + ": no effect in a run of one rank, which exchanges nothing";
}

void plan_norm_statistics(const OptionValues& values, bool has_norms, TrainingPlan& plan) {
  if (!has_norms) refuse_without_norms(values);
  const std::string& word = values.text("batch-norm-statistics");
  plan.statistics = statistics_of(word);
  if (plan.statistics != NormStatistics::kRecompute) {
    refuse_given(values, "recompute-batches", "--batch-norm-statistics " + word);
    if (syncs_batch_norm(values)) {
      refuse_given(values, "batch-norm-statistics",
                   "--batch-norm sync: the running averages are the same on all ranks; only recompute differs");
    }
  }
  plan.recompute_batches = values.integer("recompute-batches", 1);
}

std::string check_norm_batches(std::int64_t norm_positions, std::int64_t samples, std::int64_t last_samples) {
  if (norm_positions != 1) return "";
  if (samples == 1) {
    throw Error(ExitCode::kConfiguration,
                "batch norm behind a dense layer needs 2 samples or more, and each rank normalises 1 in a step: every "
                "output would be the layer's shift, and nothing before it would learn; give a larger --batch, "
                "--batch-norm sync on several ranks, or a --model without batch_norm");
  }
  if (last_samples != 1) return "";
  return "in the last step of an epoch a rank has 1 sample, and batch norm behind a dense layer gives its shift for "
         "it; "
         "choose a --batch that divides the training set better";
}

std::string describe_norm_statistics(const TrainingPlan& plan, bool spans_ranks) {
  const std::string in_training = spans_ranks ? "sync: mean and variance over the batches of all ranks" : "";
  switch (plan.statistics) {
    case NormStatistics::kLocal:
      return "local: the model that is evaluated and saved has the statistics of rank 0's worker";
    case NormStatistics::kAverage:
      if (spans_ranks) return in_training + ", and so their running averages, which are the same on all";
      return "average: the model that is evaluated and saved has mean = E[mean_i], var = E[var_i] + Var[mean_i] over "
             "the workers' running averages";
    case NormStatistics::kRecompute:
      return in_training + (spans_ranks ? "\n" : "") +
             "recompute: for the model that is evaluated and saved, measured anew each time on " +
             std::to_string(plan.recompute_batches) +
             (plan.recompute_batches == 1 ? " training batch" : " training batches") + ", or on all of one pass";
  }
  return "";
}

}  // namespace eave
