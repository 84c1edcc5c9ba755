// Options that the methods with local steps share, one meaning and one declaration each.
#pragma once

#include <cstdint>
#include <string>

#include "base/option_checks.h"
#include "eave/communicator.h"

namespace eave {

OptionSpec tau_option(const std::string& default_text = "10");
// At least 1, at most 10^15: sums of it and of steps stay in range.
std::int64_t tau_in(const OptionValues& values);

// --tau-warmup; 0: none. Throws Error(kUsage) where --tau is 1 at all times.
OptionSpec tau_warmup_option();
std::int64_t tau_warmup_in(const OptionValues& values);
// The card's line about it; "" where there is none.
std::string describe_tau_warmup(std::int64_t steps);

// Appends a warning when a run of context.steps steps ends before the first exchange, after `first` steps; `meaning`
// says what follows from that.
void warn_without_exchange(const CommunicatorContext& context, std::int64_t first, const std::string& meaning);

// The last line of the card of every method with local steps.
extern const char* const kLocalRate;

}  // namespace eave
