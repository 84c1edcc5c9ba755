// The model that averaged methods evaluate: z <- (1 - a) z + a x after every update of x, z beginning as x.
#pragma once

#include <cstdint>
#include <string>

#include "eave/communicator.h"
#include "eave/options.h"

namespace eave {

// a = 1/(t + 1) after t updates makes z the mean of all x so far, the first included (Polyak, Juditsky 1992); a
// constant a forgets, by 1 - a per update.
class MovingAverage {
 public:
  MovingAverage() = default;  // a = 1/(t + 1)
  explicit MovingAverage(double rate) : rate_(rate) {}

  // a after so many updates, at least one.
  float share(std::int64_t updates) const;
  // "a = 1/(t + 1) ...", "a = 0.001"
  std::string describe() const;

 private:
  double rate_ = 0;  // 0: 1/(t + 1)
};

// --average-rate
OptionSpec average_rate_option();
// Throws Error(kUsage) outside (0, 1].
MovingAverage average_rate_in(const OptionValues& values);
// Appends a warning when after so many updates (0: not known) much of the model that is evaluated is still where it
// began.
void warn_of_beginning(const CommunicatorContext& context, std::int64_t updates);

}  // namespace eave
