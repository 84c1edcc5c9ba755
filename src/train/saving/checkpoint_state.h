// The state of one rank that a checkpoint keeps.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/rank_state.h"
#include "eave/trainer.h"

namespace eave {

// All values that one step changes and a later step needs. A slice lies in the device's memory or in the host's.
std::vector<NamedSlice> state_of(const TrainingParts& parts);

// Settings that must be equal in the run that saved and the run that resumes, by name. "ranks" and "steps per epoch"
// may differ in an elastic resumption.
std::map<std::string, std::string> identity_of(const TrainingParts& parts);

// The moving average goes on as it was when the checkpoint was saved; here `steps` are done. No effect without one.
void resume_average(const TrainingParts& parts, const Manifest& manifest, std::int64_t steps);

// Takes the state for its file. `consensus` is the result of Communicator::consensus(), called just before. If `copies`
// is set, the state may change once this returns.
void take_state(TakenState& taken, const TrainingParts& parts, const TrainingProgress& progress, ConstSlice consensus,
                bool copies);

}  // namespace eave
