// The options of methods whose best value is looked for by trying several, besides the learning rate.
#pragma once

#include <string>
#include <vector>

namespace eave {

enum class TunedValue {
  kWhole,     // a whole number, at least 1, such as tau
  kPull,      // above 0, and stable below a bound, such as alpha
  kFactor,    // above 0, such as an outer learning rate
  kMomentum,  // at least 0 and below 1
};

struct TunedOption {
  const char* name;
  TunedValue value;
};
const std::vector<TunedOption>& tuned_options();

// Whether no value of this option lies below `value`, or above it if `upwards`.
bool is_last_value(const TunedOption& option, double value, bool upwards);

// The next value out, if `chosen` is the lowest or highest of those that were tried: as far from it as its neighbour
// is, by ratio (of 1 - value for a momentum). "": it lies inside, only one value was tried, or the option accepts none
// further out. `bound`: a kPull stays below it. If the step would pass the bound, the next value is half of the way
// there.
std::string value_beyond(const TunedOption& option, std::vector<double> tried, double chosen, double bound);

}  // namespace eave
