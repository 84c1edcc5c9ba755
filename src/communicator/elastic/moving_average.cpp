#include "communicator/elastic/moving_average.h"

#include <cmath>

#include "base/options/number_text.h"
#include "base/options/option_checks.h"

namespace eave {

float MovingAverage::share(std::int64_t updates) const {
  return static_cast<float>(rate_ > 0 ? rate_ : 1.0 / static_cast<double>(updates + 1));
}

std::string MovingAverage::describe() const {
  return rate_ > 0 ? "a = " + number_text(rate_) + ", z begins at the first model"
                   : "a = 1/(t + 1) at update t = 1, 2 ...: the mean of all so far";
}

OptionSpec average_rate_option() {
  return {"average-rate", OptionType::kReal, "0.001",
          "the evaluated model moves by this share of the way at each update; 1: no averaging"};
}

MovingAverage average_rate_in(const OptionValues& values) {
  const double rate = values.real("average-rate");
  if (!(rate > 0 && rate <= 1)) {
    refuse_option(values, "average-rate", "expected a share above 0 and at most 1; 0.001 is usual");
  }
  return MovingAverage(rate);
}

void warn_of_beginning(const CommunicatorContext& context, std::int64_t updates) {
  constexpr double kMuch = 0.05;
  const double left = std::pow(1 - context.values.real("average-rate"), static_cast<double>(updates));
  if (updates <= 0 || left < kMuch || context.transport.rank() != 0) return;
  context.warnings.push_back("the average that is evaluated will be " + std::to_string(std::lround(100 * left)) +
                             " % the model before the first step, after " + count_text(updates, "update") +
                             " with --average-rate " + context.values.text("average-rate") +
                             ": give a larger one, or train longer");
}

}  // namespace eave
