// Distributed low-communication training (Douillard et al. 2023). Workers train with AdamW for long stretches, and
// Nesterov's SGD moves the center. outer_averaging.h describes what all outer methods share: rounds, bytes, consensus.
//
//   G = c - mean(x);   v <- mu v + G;   c <- c - rho (G + mu v);   x_i <- c
//
// The paper uses outer rate rho = 0.7, outer momentum mu = 0.9, tau = 500 and --optimizer adamw. Each of its workers
// keeps its own AdamW vectors. With rho = 1 and mu = 0 the method is local-sgd, bit by bit.
#include "base/options/number_text.h"
#include "communicator/outer/outer_averaging.h"
#include "communicator/support/local_steps.h"

namespace eave {
namespace {

OuterSettings resolve_diloco(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  OuterSettings settings = outer_settings_in(context);
  const double momentum = real_in(values, "outer-momentum", 0, 1), rate = outer_rate_in(values, "outer-rate");
  settings.step = [momentum, rate](double) {
    return OuterStep{.momentum = momentum, .velocity_rate = rate * momentum, .gradient_rate = rate};
  };
  settings.formula = "v <- mu v + G;  c <- c - rho (G + mu v);  x_i <- c";
  settings.numbers = "rho = " + number_text(rate) + ", mu = " + number_text(momentum);
  settings.factor = rate;
  settings.factor_symbol = "rho";
  settings.factor_option = "outer-rate";
  settings.outer_momentum = momentum;
  settings.momentum_symbol = "mu";
  settings.nesterov = true;
  return settings;
}

void warn_of_other_optimizer(const CommunicatorContext& context) {
  for (const auto& [name, text] : context.settings) {
    if (name != "optimizer" || text == "adamw" || context.transport.rank() != 0) continue;
    context.warnings.push_back(
        "diloco was made for workers with AdamW, whose steps have one size; in force is "
        "--optimizer " +
        text + ", under which --outer-rate and --tau may need other values");
  }
}

std::unique_ptr<Communicator> make_diloco(const CommunicatorContext& context) {
  warn_of_other_optimizer(context);
  return make_outer_averaging(context, resolve_diloco(context));
}

}  // namespace

CommunicatorKind describe_communicator_diloco() {
  return {"diloco", "workers train on their own for many steps; then their mean moves the center by Nesterov's SGD",
          kAveragesParameters,
          outer_options("500", {{"outer-rate", OptionType::kReal, "0.7",
                                 "rho, outer learning rate: factor on each move of the center"},
                                {"outer-momentum", OptionType::kReal, "0.9",
                                 "mu, Nesterov momentum of the center from exchange to exchange, below 1"}}),
          make_diloco};
}

}  // namespace eave
