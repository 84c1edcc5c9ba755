#include "communicator/support/periodic_options.h"

#include "base/options/number_text.h"

namespace eave {

const char* const kLocalRate = "lr is not multiplied by p: each worker steps on its own batch";

OptionSpec tau_option(const std::string& default_text) {
  return {"tau", OptionType::kInteger, default_text, "steps from one exchange to the next"};
}

OptionSpec tau_warmup_option() {
  return {"tau-warmup", OptionType::kInteger, "0", "tau = 1 in the first so many steps"};
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

}  // namespace eave
