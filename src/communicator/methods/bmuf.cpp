// Blockwise model-update filtering (Chen, Huo 2016). In a block of tau steps the workers' mean moves by some distance,
// and a momentum of the center smooths this movement. The header outer_averaging.h describes what all outer methods
// share: rounds, bytes, consensus.
//
//   G = c - mean(x);   v <- eta_b v + zeta G;   c <- c - v;   x_i <- c
//
// With --block-nesterov, workers begin the next block at x_i <- c - eta_b v instead: momentum alone would move the
// center there. G is then measured from that point: G = c - eta_b v - mean(x).
//
// The paper uses eta_b = 1 - 1/p and zeta = 1. With eta_b = 0 and zeta = 1 the method is local-sgd, bit by bit.
#include "base/options/number_text.h"
#include "communicator/outer/outer_averaging.h"
#include "communicator/support/local_steps.h"

namespace eave {
namespace {

double usual_momentum(int workers) { return 1 - 1.0 / workers; }

double block_momentum_in(const OptionValues& values, int workers) {
  return values.has("block-momentum") ? real_in(values, "block-momentum", 0, 1) : usual_momentum(workers);
}

OuterSettings resolve_bmuf(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  OuterSettings settings = outer_settings_in(context);
  const double momentum = block_momentum_in(values, context.transport.size()),
               rate = outer_rate_in(values, "block-rate");
  settings.nesterov = values.flag("block-nesterov");
  if (settings.nesterov && momentum == 0 && values.given("block-momentum")) {
    refuse_option(values, "block-nesterov", "has no effect with --block-momentum 0: there is no way to look ahead");
  }
  settings.step = [momentum, rate](double) { return OuterStep{.momentum = momentum, .scale = rate}; };
  settings.ahead = settings.nesterov ? momentum : 0;
  if (settings.nesterov && !values.has("block-momentum")) settings.ahead_of = usual_momentum;
  settings.formula =
      std::string("v <- eta_b v + zeta G;  c <- c - v;  x_i <- c") + (settings.nesterov ? " - eta_b v" : "");
  settings.numbers = "eta_b = " + number_text(momentum) + (values.has("block-momentum") ? "" : " (1 - 1/p)") +
                     ", zeta = " + number_text(rate);
  settings.factor = rate;
  settings.factor_symbol = "zeta";
  settings.factor_option = "block-rate";
  settings.outer_momentum = momentum;
  settings.momentum_symbol = "eta_b";
  return settings;
}

std::unique_ptr<Communicator> make_bmuf(const CommunicatorContext& context) {
  return make_outer_averaging(context, resolve_bmuf(context));
}

}  // namespace

CommunicatorKind describe_communicator_bmuf() {
  return {
      "bmuf", "workers train on their own; every tau steps their mean moves the center with block momentum",
      kAveragesParameters,
      outer_options(
          "10", {{"block-momentum", OptionType::kReal, "",
                  "eta_b, momentum of the center from block to block, below 1 (default: 1 - 1/p with p workers)"},
                 {"block-rate", OptionType::kReal, "1", "zeta, factor on the movement of the workers' mean in a block"},
                 {"block-nesterov", OptionType::kFlag, "off",
                  "start each block at the point where block momentum alone would move the center"}}),
      make_bmuf};
}

}  // namespace eave
