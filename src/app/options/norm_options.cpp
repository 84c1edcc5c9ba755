#include "app/options/norm_options.h"

#include "base/options/number_text.h"
#include "communicator/support/sync_batch_norm.h"
#include "eave/check.h"

namespace eave {
namespace {

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
