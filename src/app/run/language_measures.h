// Further measurements of a run on text: tokens, FLOP/s and their share of the peak.
#pragma once

#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/trainer.h"

namespace eave {

// Sets RunSummary::tokens, flops_per_core and share_of_peak if the samples are text, the last two on a CPU only. Call
// it on rank 0 when the last step has just ended: it keeps the calling core busy for some milliseconds.
void add_language_measures(RunSummary& summary, const TrainingParts& parts, const OptionValues& values);

}  // namespace eave
