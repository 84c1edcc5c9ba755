// An exponential moving average of the consensus (--ema-decay; Polyak, Juditsky 1992 average uniformly, this form is
// that of Tarvainen, Valpola 2017). After each step in which it is due,
//     average <- decay^n average + (1 - decay^n) consensus, n the steps since the last time.
// It begins as the consensus after the first step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/options/number_text.h"
#include "eave/communicator.h"

namespace eave {

class ConsensusAverage {
 public:
  // `decay` is that of one step, `every` the steps between two times. Memory: two vectors as large as the parameters.
  ConsensusAverage(Device& device, std::size_t size, double decay, std::int64_t every)
      : device_(device), decay_(decay), every_(every), average_(device.allocate(size)), rest_(device.allocate(size)) {}

  bool is_due(std::int64_t index) const { return index == 0 || (index + 1) % every_ == 0; }

  // Collective, after every step, from step 0 on. When the average is due, this asks for the consensus, so it waits for
  // an exchange in flight.
  void after_step(std::int64_t index, Communicator& communicator) {
    if (!is_due(index)) return;
    const double share = has_begun_ ? 1 - std::pow(decay_, static_cast<double>(index + 1 - last_)) : 1;
    device_.move_average(average_.slice(), rest_.slice(), communicator.consensus(), static_cast<float>(share));
    has_begun_ = true;
    last_ = index + 1;
  }

  // The steps since the average last moved, after `steps` steps.
  std::int64_t steps_since_move(std::int64_t steps) const { return steps - last_; }
  // The same in a run that was never resumed on another number of ranks, which numbers its steps anew.
  std::int64_t usual_steps_since_move(std::int64_t steps) const {
    return steps - std::max(steps / every_ * every_, std::int64_t{1});
  }
  // Goes on after `steps` steps with a state that was saved `since` steps after the average had moved.
  void resume(std::int64_t steps, std::int64_t since) {
    has_begun_ = true;
    last_ = steps - since;
  }

  // The share of the average after `steps` steps that is still the consensus after the first one.
  double share_of_beginning(std::int64_t steps) const {
    const std::int64_t last = steps / every_ * every_;  // the newest step after which it was due
    return last < 2 ? 1 : std::pow(decay_, static_cast<double>(last - 1));
  }

  ConstSlice values() const { return average_.slice(); }
  // The vectors that a checkpoint keeps. The same on all ranks.
  std::vector<Slice> state() { return {average_.slice(), rest_.slice()}; }
  std::string describe() const {
    return "e <- " + number_text(decay_) + "^n e + (1 - " + number_text(decay_) +
           "^n) consensus, every n = " + count_text(every_, "step") + "; scored as ema, saved as ema.safetensors";
  }

 private:
  Device& device_;
  const double decay_;
  const std::int64_t every_;
  bool has_begun_ = false;
  std::int64_t last_ = 0;  // the steps after which the average last moved, in this run's numbers: it may be negative
  Buffer average_, rest_;
};

}  // namespace eave
