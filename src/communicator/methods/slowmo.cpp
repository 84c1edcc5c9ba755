// Slow momentum (Wang, Tantia, Ballas, Rabbat 2020). outer_averaging.h describes what all outer methods share: rounds,
// bytes, consensus.
//
//   G = c - mean(x);   u <- beta_s u + G / eta;   c <- c - a eta u;   x_i <- c
//
// eta is the learning rate of the step before the exchange. Dividing by it gives u the scale of a gradient, whatever
// the schedule. If eta is 0, no gradient follows from G. Then c <- c - a G, and u does not change.
//
// With beta_s = 0 and a = 1 the method is local-sgd, bit by bit. The paper keeps, resets or averages the workers'
// momentum buffers; --worker-momentum chooses among the three.
#include <limits>

#include "base/options/number_text.h"
#include "communicator/outer/outer_averaging.h"
#include "communicator/support/local_steps.h"

namespace eave {
namespace {

OuterStep slow_step(double momentum, double rate, double learning_rate) {
  // The bound is not 0, because the inverse of a smaller rate overflows a float.
  if (learning_rate < std::numeric_limits<float>::min()) {
    return {.momentum = 1, .scale = 0, .velocity_rate = 0, .gradient_rate = rate};
  }
  return {.momentum = momentum, .scale = 1 / learning_rate, .velocity_rate = rate * learning_rate};
}

OuterSettings resolve_slowmo(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  OuterSettings settings = outer_settings_in(context);
  const double momentum = real_in(values, "slowmo-momentum", 0, 1), rate = outer_rate_in(values, "slowmo-rate");
  settings.step = [momentum, rate](double learning_rate) { return slow_step(momentum, rate, learning_rate); };
  settings.formula = "u <- beta_s u + G / eta;  c <- c - a eta u;  x_i <- c;  eta = lr of the step before";
  settings.numbers = "beta_s = " + number_text(momentum) + ", a = " + number_text(rate);
  settings.factor = rate;
  settings.factor_symbol = "a";
  settings.factor_option = "slowmo-rate";
  settings.outer_momentum = momentum;
  settings.momentum_symbol = "beta_s";
  return settings;
}

std::unique_ptr<Communicator> make_slowmo(const CommunicatorContext& context) {
  return make_outer_averaging(context, resolve_slowmo(context));
}

}  // namespace

CommunicatorKind describe_communicator_slowmo() {
  return {"slowmo", "workers train on their own; every tau steps their mean moves the center with slow momentum",
          kAveragesParameters,
          outer_options("10", {{"slowmo-momentum", OptionType::kReal, "0.7",
                                "beta_s, momentum of the center from exchange to exchange, below 1"},
                               {"slowmo-rate", OptionType::kReal, "1",
                                "a, outer learning rate: factor on each move of the center"}}),
          make_slowmo};
}

}  // namespace eave
