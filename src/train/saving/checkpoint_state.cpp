#include "train/saving/checkpoint_state.h"

#include <algorithm>

#include "train/loop/consensus_average.h"

namespace eave {
namespace {

constexpr const char* kConsensus = "consensus";

bool is_elsewhere(const Device& device, ConstSlice values) {
  return device.kind() != DeviceKind::kCpu && device.holds(values);
}

void read_values(Device& device, ConstSlice values, Slice into) {
  if (is_elsewhere(device, values)) return device.read(values, into);
  std::ranges::copy(values, into.begin());
}

}  // namespace

std::vector<NamedSlice> state_of(const TrainingParts& parts) {
  std::vector<NamedSlice> state = {{"parameters", parts.replica.parameters.slice()},
                                   {"statistics", parts.replica.statistics.slice()}};
  const auto append = [&](const std::string& owner, const std::vector<Slice>& slices) {
    for (std::size_t i = 0; i < slices.size(); ++i) state.push_back({owner + "." + std::to_string(i), slices[i]});
  };
  append("optimizer", parts.replica.optimizer.state());
  append("communicator", parts.communicator.state());
  if (parts.average != nullptr) append("average", parts.average->state());
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

void SavedState::take(const TrainingParts& parts, const TrainingProgress& progress, ConstSlice consensus, bool copies) {
  const std::vector<NamedSlice> state = state_of(parts);
  header_ = {parts.transport.rank(), parts.transport.size(), configuration_of(identity_of(parts)), progress};
  if (const std::int64_t* count = parts.replica.optimizer.update_count()) header_.updates = *count;
  values_.clear();
  std::size_t copied = 0;
  const auto add = [&](const std::string& name, ConstSlice values) {
    header_.vectors.push_back({name, values.size(), {}});
    if (copies || is_elsewhere(parts.replica.device, values)) {
      if (copied == copies_.size()) copies_.emplace_back();
      std::vector<float>& copy = copies_[copied++];
      copy.resize(values.size());
      read_values(parts.replica.device, values, copy);
      values = copy;
    }
    values_.push_back(values);
  };
  for (const NamedSlice& part : state) {
    const bool is_it = part.values.data() == consensus.data() && part.values.size() == consensus.size();
    if (is_it && header_.consensus.empty()) header_.consensus = part.name;
    add(part.name, part.values);
  }
  if (!header_.consensus.empty() || parts.transport.rank() != 0) return;
  header_.consensus = kConsensus;
  add(kConsensus, consensus);
}

void write_values(Device& device, Slice into, ConstSlice values) {
  if (is_elsewhere(device, into)) return device.write(into, values);
  std::ranges::copy(values, into.begin());
}

}  // namespace eave
