#include "train/saving/checkpoint_state.h"

#include "train/loop/consensus_average.h"

namespace eave {
std::vector<NamedSlice> state_of(const TrainingParts& parts) {
  std::vector<NamedSlice> state = {{"parameters", parts.replica.parameters.slice()},
                                   {"statistics", parts.replica.statistics.slice()}};
  append_slices(state, "optimizer", parts.replica.optimizer.state());
  append_slices(state, "communicator", parts.communicator.state());
  if (parts.average != nullptr) append_slices(state, "average", parts.average->state());
  return state;
}

std::map<std::string, std::string> identity_of(const TrainingParts& parts) {
  std::map<std::string, std::string> identity = {{"ranks", std::to_string(parts.transport.size())},
                                                 {"seed", std::to_string(parts.replica.seed)},
                                                 {"training samples", std::to_string(parts.data.train->size())},
                                                 {"steps per epoch", std::to_string(parts.sampler.steps_per_epoch())},
                                                 {"model parameters", std::to_string(parts.replica.parameters.size())}};
  if (!parts.data.identity.empty()) identity["data"] = parts.data.identity;
  return identity;
}

void resume_average(const TrainingParts& parts, const Manifest& manifest, std::int64_t steps) {
  if (parts.average == nullptr) return;
  const std::int64_t usual = parts.average->usual_steps_since_move(manifest.step);
  parts.average->resume(steps, number_in(manifest, kSinceAverage).value_or(usual));
}

void take_state(TakenState& taken, const TrainingParts& parts, const TrainingProgress& progress, ConstSlice consensus,
                bool copies) {
  CheckpointHeader header{parts.transport.rank(), parts.transport.size(), configuration_of(identity_of(parts)),
                          progress};
  if (const std::int64_t* count = parts.replica.optimizer.update_count()) header.updates = *count;
  Device& device = parts.replica.device;
  taken.begin(header);
  for (const NamedSlice& part : state_of(parts)) taken.add(device, part, consensus, copies);
  taken.add_consensus(device, consensus, copies);
}

}  // namespace eave
