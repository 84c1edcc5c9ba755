#include "communicator/periodic_options.h"

namespace eave {

const char* const kLocalRate = "lr is not multiplied by p: each worker steps on its own batch";

OptionSpec tau_option(const std::string& default_text) {
  return {"tau", OptionType::kInteger, default_text, "steps from one exchange to the next"};
}

void warn_without_exchange(const CommunicatorContext& context, std::int64_t first, const std::string& meaning) {
  if (context.steps <= 0 || context.steps >= first || context.transport.rank() != 0) return;
  context.warnings.push_back("no exchange will take place in " + std::to_string(context.steps) + " steps with --tau " +
                             context.values.text("tau") + ": " + meaning + "; give a smaller --tau or train longer");
}

}  // namespace eave
