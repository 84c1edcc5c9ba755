#include "app/options/method_checks.h"

#include <string>

#include "app/options/training_plan.h"
#include "app/run/run_settings.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/check.h"
#include "transport/decorators/forwarding.h"

namespace eave {

std::int64_t batch_of_rank(const OptionValues& values, int workers) {
  const std::int64_t batch = values.integer("batch", 1, std::int64_t{1} << 24);
  if (values.text("batch-means") != "total") return batch;
  if (batch % workers == 0) return batch / workers;
  throw Error(ExitCode::kUsage, "--batch " + std::to_string(batch) + " --batch-means total cannot be divided by " +
                                    count_text(workers, "rank") + " that train; give a multiple");
}

void refuse_useless_replica_checks(const OptionValues& values, const CommunicatorTraits& traits, int workers) {
  const bool compares = traits.exchanges_together && values.integer("replica-hash-every", 0) > 0;
  if (workers == 1 || compares) return;
  for (const std::string name : {"replica-hash-every", "on-replica-fault"}) {
    if (!values.given(name)) continue;
    if (!traits.exchanges_together) {
      refuse_option(values, name,
                    "has no effect: eave compares replicas only if all ranks exchange together; leave it out");
    }
    if (name == "on-replica-fault") refuse_option(values, name, "has no effect: --replica-hash-every is 0");
  }
}

void refuse_hidden_waits_for_average(const OptionValues& values, const CommunicatorTraits& traits, int ranks) {
  if (real_in(values, "ema-decay", 0, 1) == 0 || traits.exchanges_together || ranks == 1) return;
  if (values.given("ema-every")) return;
  refuse_option(values, "ema-decay",
                "the ranks of --communicator " + values.text("communicator") +
                    " do not exchange together, so they wait for each other at each update of the average: say by "
                    "--ema-every after how many steps that may be, such as 100");
}

void refuse_scaling_of_total_batch(const OptionValues& values, const CommunicatorTraits& traits) {
  if (!traits.averages_gradients || values.text("batch-means") == "per-rank") return;
  if (values.text("lr-scaling") == "none") return;
  throw Error(ExitCode::kUsage,
              "--lr-scaling " + values.text("lr-scaling") +
                  " has no effect with --batch-means total: the batch does not grow with the number of ranks");
}

void refuse_useless_reset(const OptionValues& values, const CommunicatorTraits& traits) {
  if (values.text("on-drop") != "reset-to-center" || traits.resets_to_center) return;
  throw Error(ExitCode::kUsage, "--on-drop reset-to-center has no effect with --communicator " +
                                    values.text("communicator") +
                                    ": its workers cannot restart from the model that it evaluates. These methods "
                                    "can: " +
                                    methods_that_reset());
}

void refuse_endless_bytes(const OptionValues& values, const CommunicatorTraits& traits, int ranks) {
  if (!values.has("stop-after-bytes") || traits.exchanges != ExchangePattern::kNone || ranks == 1) return;
  refuse_option(values, "stop-after-bytes",
                "would never end the run: --communicator " + values.text("communicator") + " sends nothing");
}

void refuse_stops_before_average(const OptionValues& values) {
  if (!values.flag("average-at-end")) return;
  for (const std::string stop : {"stop-at-accuracy", "stop-at-loss"}) {
    if (!values.has(stop)) continue;
    throw Error(ExitCode::kUsage,
                "--" + stop + " contradicts --average-at-end: until the end the mean is not evaluated");
  }
}

namespace {

void require_reproducible_options(const OptionValues& values) {
  const std::string reason = "with --reproducible nothing may depend on the number of ranks: leave it out";
  if (values.text("sampling") == "whole") refuse_option(values, "sampling", reason);
  if (values.text("lr-scaling") != "none") refuse_option(values, "lr-scaling", reason);
  if (values.text("batch-norm-statistics") == "recompute") refuse_option(values, "batch-norm-statistics", reason);
}

}  // namespace

void refuse_other_splits(const OptionValues& values, Communicator& communicator) {
  const bool splits = values.integer("accumulate", 1) > 1, is_split = communicator.micro_batches() > 0;
  if (is_split) require_reproducible_options(values);
  if (splits && is_split)
    refuse_option(values, "accumulate", "with --reproducible, --micro-batches says how a batch is split: leave it out");
  if (splits && communicator.moments() != nullptr)
    refuse_option(values, "accumulate", "contradicts --batch-norm sync, which normalises over the whole batch");
}

namespace {

// Rank 0 of a job of these many ranks, of which only its size is asked.
class FirstOf final : public ForwardingTransport {
 public:
  FirstOf(Transport& job, int ranks) : ForwardingTransport(job), ranks_(ranks) {}
  int rank() const override { return 0; }
  int size() const override { return ranks_; }

 private:
  const int ranks_;
};

}  // namespace

void check_method(const CommunicatorKind& kind, const OptionValues& values, double learning_rate, Transport& job,
                  const std::vector<std::string>& hosts) {
  FirstOf first(job, static_cast<int>(hosts.size()));
  std::vector<std::string> warnings;  // the run gives them again
  const auto method = make_communicator(kind, {.transport = first,
                                               .values = values,
                                               .learning_rate = learning_rate,
                                               .warnings = warnings,
                                               .seed = static_cast<std::uint64_t>(values.seed("seed")),
                                               .settings = settings_of_numbers(values),
                                               .hosts = hosts});
  refuse_other_splits(values, *method);
}

void check_options_of_method(const OptionValues& values, const CommunicatorTraits& traits, int ranks, int workers) {
  batch_of_rank(values, workers);
  refuse_useless_replica_checks(values, traits, workers);
  refuse_hidden_waits_for_average(values, traits, ranks);
  refuse_scaling_of_total_batch(values, traits);
  refuse_useless_reset(values, traits);
  refuse_endless_bytes(values, traits, ranks);
  refuse_stops_before_average(values);
}

}  // namespace eave
