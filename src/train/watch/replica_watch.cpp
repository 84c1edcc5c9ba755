#include "train/watch/replica_watch.h"

#include "train/loop/consensus_average.h"

namespace eave {
namespace {

ReplicaComparisonSettings settings_of(const TrainingParts& parts, const TrainingPlan& plan) {
  ReplicaComparisonSettings settings;
  if (parts.transport.size() > 1 && parts.traits.exchanges_together) settings.every = plan.replica_hash_every;
  settings.repairs = plan.on_replica_fault == OnReplicaFault::kRepair;
  settings.causes = "memory or a computation has failed there";
  settings.plugin = plan.plugin;
  settings.advice_with_majority = "look at that machine, and resume from the last checkpoint without it";
  settings.advice = "look at these machines, and resume from the last checkpoint";
  settings.advice_at_begin =
      "run it again; if the same message comes, move that checkpoint away, and the run goes on from the one before";
  return settings;
}

ReplicatedVectors vectors_of(const TrainingParts& parts) {
  return {[&communicator = parts.communicator] { return communicator.replicated(); },
          [&communicator = parts.communicator] { return communicator.exchange_under_way(); },
          parts.average != nullptr ? parts.average->state() : std::vector<Slice>()};
}

}  // namespace

ReplicaWatch::ReplicaWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events)
    : comparison_(parts.transport, parts.replica.device, vectors_of(parts), settings_of(parts, plan),
                  [&events](const std::string& text) {
                    if (events.warning) events.warning(text);
                  }) {}

void ReplicaWatch::begin(const TrainingProgress& progress) {
  repaired_before_ = progress.repaired;
  comparison_.begin(progress.steps);
  comparison_.require_same_sizes();
  if (progress.steps > 0) comparison_.compare();
}

void ReplicaWatch::meet() {
  comparison_.settle();
  if (comparison_.steps_since() > 0) comparison_.compare();
}

}  // namespace eave
