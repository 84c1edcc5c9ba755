// The average z that asgd, mvasgd, adownpour and mvadownpour evaluate: z <- (1 - a) z + a x after every update of x. It
// begins at the first x.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "eave/communicator.h"
#include "eave/options.h"

namespace eave {

// With a = 1/(t + 1) after t updates, z is the mean of all x so far, the first included (Polyak, Juditsky 1992). With a
// constant a, old values fade by the factor 1 - a per update.
class MovingAverage {
 public:
  MovingAverage() = default;  // a = 1/(t + 1)
  explicit MovingAverage(double rate) : rate_(rate) {}

  // The a of update number `updates`, at least 1.
  float share(std::int64_t updates) const;
  bool counts_updates() const { return rate_ == 0; }
  // "a = 1/(t + 1) ...", "a = 0.001"
  std::string describe() const;

 private:
  double rate_ = 0;  // 0: 1/(t + 1)
};

// --average-rate
OptionSpec average_rate_option();
// Throws Error(kUsage) outside (0, 1].
MovingAverage average_rate_in(const OptionValues& values);
// Appends a warning if z still consists of at least 5 % of the first model after `updates` updates (0: not known).
void warn_of_beginning(const CommunicatorContext& context, std::int64_t updates);

// The averaged sequential baselines, asgd and mvasgd: one rank trains as if alone and averages its iterates.
//   x <- x - step;   after step t = 1, 2 ...:  z <- (1 - a) z + a x,  z beginning as x
// x is the iterate, also with Nesterov's momentum. z is the consensus. The rank exchanges nothing. Throws Error(kUsage)
// if the job has more than one rank. `name` is the method's name, and `of_several` that of its counterpart for several
// ranks, which the error recommends.
std::unique_ptr<Communicator> make_sequential_average(const CommunicatorContext& context, const std::string& name,
                                                      const std::string& of_several, const MovingAverage& average);

}  // namespace eave
