// What a run that has ended amounts to, over all its ranks.
#pragma once

#include <string>

#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/trainer.h"
#include "eave/transport.h"

namespace eave {

// Collective: the same on all ranks.
RunSummary summarise(const OptionValues& values, Transport& transport, int count_of_workers,
                     const TrainingResult& result);

// Lines for the terminal: steps that were left out, staleness of exchanges, what checkpoints took. "" where there is
// nothing to tell.
std::string describe_account(const RunSummary& summary);

}  // namespace eave
