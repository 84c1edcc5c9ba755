// An exponential moving average of the consensus (--ema-decay; Polyak, Juditsky 1992 average uniformly, this form is
// that of Tarvainen, Valpola 2017). After each step in which it is due,
//     average <- decay^n average + (1 - decay^n) consensus, n the steps since the last time.
// It begins as the consensus after the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/communicator.h"

namespace eave {

class ConsensusAverage {
 public:
  // `decay` is that of one step, `every` the steps between two times. Memory: two vectors as large as the parameters.
  ConsensusAverage(Device& device, std::size_t size, double decay, std::int64_t every);

  // Collective, after every step, from step 0 on. When the average is due, this asks for the consensus, so it waits for
  // an exchange in flight.
  void after_step(std::int64_t index, Communicator& communicator);
  ConstSlice values() const { return average_.slice(); }
  // What a checkpoint keeps. The same on all ranks.
  std::vector<Slice> state() { return {average_.slice(), rest_.slice()}; }
  std::string describe() const;

 private:
  Device& device_;
  const double decay_;
  const std::int64_t every_;
  Buffer average_, rest_;
};

}  // namespace eave
