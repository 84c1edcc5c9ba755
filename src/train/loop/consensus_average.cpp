#include "train/loop/consensus_average.h"

#include <cmath>

#include "base/options/number_text.h"

namespace eave {

ConsensusAverage::ConsensusAverage(Device& device, std::size_t size, double decay, std::int64_t every)
    : device_(device), decay_(decay), every_(every), average_(device.allocate(size)), rest_(device.allocate(size)) {}

void ConsensusAverage::after_step(std::int64_t index, Communicator& communicator) {
  if (index > 0 && (index + 1) % every_ != 0) return;
  // The second time comes after one step less than the others.
  const std::int64_t last = index + 1 == every_ ? 1 : index + 1 - every_;
  const double share = index == 0 ? 1 : 1 - std::pow(decay_, static_cast<double>(index + 1 - last));
  device_.move_average(average_.slice(), rest_.slice(), communicator.consensus(), static_cast<float>(share));
}

std::string ConsensusAverage::describe() const {
  return "e <- " + number_text(decay_) + "^n e + (1 - " + number_text(decay_) +
         "^n) consensus, every n = " + count_text(every_, "step") + "; scored as ema, saved as ema.safetensors";
}

}  // namespace eave
