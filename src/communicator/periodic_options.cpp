#include "communicator/periodic_options.h"

#include "eave/check.h"

namespace eave {

const char* const kLocalRate = "lr is not multiplied by p: each worker steps on its own batch";

void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason) {
  const OptionValues::Entry& entry = values.entry(name);
  throw Error(ExitCode::kUsage, "--" + name + " " + entry.text + " (" + entry.source + "): " + reason);
}

double real_where(const OptionValues& values, const std::string& name, bool (*holds)(double),
                  const std::string& expected) {
  const double value = values.real(name);
  if (!holds(value)) refuse_option(values, name, "expected " + expected);
  return value;
}

OptionSpec tau_option(const std::string& default_text) {
  return {"tau", OptionType::kInteger, default_text, "steps from one exchange to the next"};
}

OptionSpec worker_momentum_option() {
  return {"worker-momentum",
          OptionType::kText,
          "local",
          "at an exchange, the optimizer's vectors are kept (local), averaged too (average) or set to 0 (reset)",
          {"local", "average", "reset"}};
}

WorkerMomentum worker_momentum_in(const OptionValues& values) {
  const std::string& word = values.text("worker-momentum");
  if (word == "average") return WorkerMomentum::kAverage;
  return word == "reset" ? WorkerMomentum::kReset : WorkerMomentum::kLocal;
}

std::string describe_worker_momentum(WorkerMomentum momentum) {
  switch (momentum) {
    case WorkerMomentum::kLocal:
      return "worker momentum stays local";
    case WorkerMomentum::kAverage:
      return "worker momentum is averaged with the same weights";
    case WorkerMomentum::kReset:
      return "worker momentum is reset to 0 at each exchange";
  }
  return "";
}

void require_vectors(WorkerMomentum momentum, const ReplicaView& replica) {
  if (momentum == WorkerMomentum::kLocal || !replica.optimizer.empty()) return;
  throw AgreedError(ExitCode::kUsage,
                    std::string("--worker-momentum ") + (momentum == WorkerMomentum::kAverage ? "average" : "reset") +
                        " has no effect: the optimizer keeps no vectors; give it --momentum, or leave this out");
}

void warn_without_exchange(const CommunicatorContext& context, std::int64_t first, const std::string& meaning) {
  if (context.steps <= 0 || context.steps >= first || context.transport.rank() != 0) return;
  context.warnings.push_back("no exchange will take place in " + std::to_string(context.steps) + " steps with --tau " +
                             context.values.text("tau") + ": " + meaning + "; give a smaller --tau or train longer");
}

}  // namespace eave
