// One training, from its options to its results.
#pragma once

#include "app/command_line.h"
#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/transport.h"

namespace eave {

// Collective, the same options on all ranks of `bare`: trains, and leaves what --run-dir is to hold. `speaks`: rank 0
// prints the card, warnings and the result. Returns the totals, on all ranks. Throws Error.
RunSummary run_training(Transport& bare, const CommandLine& line, const OptionValues& values, bool speaks);

}  // namespace eave
