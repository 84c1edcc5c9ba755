// Options that all methods with local steps share. Each has one meaning and one declaration.
#pragma once

#include <cstdint>
#include <string>

#include "base/options/option_checks.h"
#include "eave/communicator.h"

namespace eave {

OptionSpec tau_option(const std::string& default_text = "10");
// --tau: at least 1, at most 10^15, so that sums of tau and of steps do not overflow.
std::int64_t tau_in(const OptionValues& values);

// --tau-warmup; 0: none. tau_warmup_in throws Error(kUsage) if --tau is 1 anyway.
OptionSpec tau_warmup_option();
std::int64_t tau_warmup_in(const OptionValues& values);
// The card's line about --tau-warmup; "" if there is none.
std::string describe_tau_warmup(std::int64_t steps);

// Appends a warning if a run of context.steps steps ends before the first exchange, which comes after `first` steps.
// `meaning` states the consequence.
void warn_without_exchange(const CommunicatorContext& context, std::int64_t first, const std::string& meaning);

// The last line of the card of every method with local steps.
extern const char* const kLocalRate;

}  // namespace eave
