#include "communicator/support/local_steps.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/options/number_text.h"
#include "eave/agreement.h"

namespace eave {
namespace {

bool has_setting(const CommunicatorContext& context, const std::string& name, const std::string& value) {
  return std::ranges::find(context.settings, std::pair(name, value)) != context.settings.end();
}

// A line of the card that ends with the iterate as a formula of the parameters that a worker holds; "" if the workers
// have no Nesterov momentum.
std::string describe_iterates(const CommunicatorContext& context, const std::string& line) {
  if (!has_setting(context, "nesterov", "on")) return "";
  if (has_setting(context, "momentum-correction", "off"))
    return line + "x_i = y_i + mu v_i, y_i the parameters as held";
  return line +
         "x_i = y_i + lr mu v_i, y_i the parameters as held and lr that of the exchange's step: where lr drops, y_i "
         "stays and x_i moves";
}

constexpr double kLongest = 1e9;  // steps; a limit, because tau of an exploding loss may not fit an integer
constexpr std::int64_t kHalf = std::int64_t{1} << 32;

}  // namespace

const char* const kLocalRate = "lr is not multiplied by p: each worker steps on its own batch";

OptionSpec tau_option(const std::string& default_text) {
  return {"tau", OptionType::kInteger, default_text, "number of steps from one exchange to the next"};
}

OptionSpec tau_warmup_option() {
  return {"tau-warmup", OptionType::kInteger, "0", "use tau = 1 for this many steps at the start"};
}

std::int64_t tau_warmup_in(const OptionValues& values) {
  const std::int64_t steps = values.integer("tau-warmup", 0);
  if (steps > 0 && tau_in(values) == 1) {
    refuse_option(values, "tau-warmup", "has no effect with --tau 1, which is what it warms up with");
  }
  return steps;
}

std::string describe_tau_warmup(std::int64_t steps) {
  return steps > 0 ? "tau = 1 in the first " + count_text(steps, "step") + "\n" : "";
}

std::int64_t tau_in(const OptionValues& values) { return values.integer("tau", 1); }

void warn_without_exchange(const CommunicatorContext& context, std::int64_t first, const std::string& meaning) {
  if (context.steps <= 0 || context.steps >= first || context.transport.rank() != 0) return;
  context.warnings.push_back("no exchange will take place in " + count_text(context.steps, "step") + " with --tau " +
                             context.values.text("tau") + ": " + meaning + "; give a smaller --tau or train longer");
}

std::string describe_pulled_iterates(const CommunicatorContext& context) {
  return describe_iterates(context,
                           "\nEAMSGD: x_i is the iterate, the gradient is taken ahead of it, and the pull does not "
                           "enter the velocity;\n");
}

std::string describe_gossiped_iterates(const CommunicatorContext& context) {
  return describe_iterates(context,
                           "\nNesterov: x_i is the iterate, the gradient is taken ahead of it, and the pull does not "
                           "enter the velocity; evaluated: the mean of the y_i;\n");
}

std::string describe_pushed_iterates(const CommunicatorContext& context) {
  return describe_iterates(context,
                           "\nNesterov: x_i is the iterate: workers push what it has moved by, and go on from x_i = c "
                           "with their velocity;\n");
}

std::string describe_averaged_points(const CommunicatorContext& context) {
  if (!has_setting(context, "nesterov", "on")) return "";
  return "\nNesterov: x_i are the parameters as held, the points ahead where the next gradients are taken: these are "
         "averaged, not the iterates";
}

LocalSteps::LocalSteps(Transport& transport, const LocalStepsSettings& settings)
    : transport_(transport), settings_(settings) {}

std::int64_t LocalSteps::first_local() const { return std::max(settings_.post_local_at, settings_.warmup); }

std::int64_t LocalSteps::adapted_tau() const { return kept_.integer(kTauAndWithoutLoss) % kHalf; }

std::int64_t LocalSteps::samples_without_loss() const { return kept_.integer(kTauAndWithoutLoss) / kHalf; }

void LocalSteps::keep(std::int64_t adapted_tau, std::int64_t samples_without_loss) {
  kept_.set(kTauAndWithoutLoss, adapted_tau + kHalf * samples_without_loss);
}

std::int64_t LocalSteps::tau() const {
  const std::int64_t adapted = adapted_tau();
  return adapted > 0 ? adapted : settings_.tau;
}

bool LocalSteps::exchanges_after(const Step& step) const {
  if (averages_gradients(step)) return false;
  if (step.index < settings_.warmup) return true;
  if (!settings_.adaptive) return (step.index + 1 - first_local()) % settings_.tau == 0;
  return kept_.integer(kStepsSince) + 1 >= tau();
}

bool LocalSteps::end_step(const Step& step) {
  const bool exchanges = exchanges_after(step);
  if (settings_.adaptive && !averages_gradients(step) && step.index >= settings_.warmup) {
    kept_.set(kStepsSince, kept_.integer(kStepsSince) + 1);
    if (std::isfinite(step.loss_sum)) {
      kept_.set(kLossSince, kept_.real(kLossSince) + step.loss_sum);
    } else {
      keep(adapted_tau(), samples_without_loss() + step.samples);
    }
  }
  return exchanges;
}

void LocalSteps::restart() {
  keep(adapted_tau(), 0);
  kept_.set(kStepsSince, std::int64_t{0});
  kept_.set(kLossSince, 0.0);
}

double LocalSteps::adapt(std::int64_t samples) {
  if (!settings_.adaptive || kept_.integer(kStepsSince) == 0) return 0;
  const auto start = std::chrono::steady_clock::now();
  const std::vector<double> sums =
      sum_over_ranks(transport_, {kept_.real(kLossSince), static_cast<double>(samples_without_loss())});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  restart();
  const double with_loss = static_cast<double>(samples) - sums[1];
  if (with_loss > 0) follow_loss(sums[0] / with_loss);
  return seconds;
}

void LocalSteps::follow_loss(double loss) {
  if (kept_.real(kFirstLoss) == 0) return kept_.set(kFirstLoss, loss);
  const double tau = std::ceil(std::sqrt(loss / kept_.real(kFirstLoss)) * static_cast<double>(settings_.tau));
  // A script's loss may be negative, so that tau is NaN. Then tau stays.
  if (!std::isnan(tau)) keep(static_cast<std::int64_t>(std::clamp(tau, 1.0, kLongest)), 0);
}

}  // namespace eave
