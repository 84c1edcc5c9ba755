// Sums up a run that has ended, over all ranks.
#pragma once

#include <string>

#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/trainer.h"
#include "eave/transport.h"

namespace eave {

// Collective. The result is the same on all ranks.
RunSummary summarise(const OptionValues& values, Transport& transport, int count_of_workers,
                     const TrainingResult& result);

// Lines for the terminal: steps that were left out, rollbacks, staleness of exchanges, time of checkpoints. "" if there
// is nothing to report.
std::string describe_account(const RunSummary& summary);

}  // namespace eave
