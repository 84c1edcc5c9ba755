// Options that the methods with local steps share, one meaning and one declaration each, and checks of options.
#pragma once

#include <cstdint>
#include <string>

#include "eave/communicator.h"

namespace eave {

// Throws Error(kUsage): --`name`, as given, `reason`.
[[noreturn]] void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason);

// The value of a real option. Throws Error(kUsage), with `expected`, where `holds` is false of it.
double real_where(const OptionValues& values, const std::string& name, bool (*holds)(double),
                  const std::string& expected);

OptionSpec tau_option(const std::string& default_text = "10");

// What becomes of the optimizer's vectors (momentum) when the parameters are exchanged.
enum class WorkerMomentum { kLocal, kAverage, kReset };
OptionSpec worker_momentum_option();
WorkerMomentum worker_momentum_in(const OptionValues& values);
std::string describe_worker_momentum(WorkerMomentum momentum);
// For begin(): throws AgreedError(kUsage) where there are no vectors to do that with.
void require_vectors(WorkerMomentum momentum, const ReplicaView& replica);

// Appends a warning when a run of context.steps steps ends before the first exchange, after `first` steps; `meaning`
// says what follows from that.
void warn_without_exchange(const CommunicatorContext& context, std::int64_t first, const std::string& meaning);

// The last line of the card of every method with local steps.
extern const char* const kLocalRate;

}  // namespace eave
