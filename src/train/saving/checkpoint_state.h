// The state of one rank that a checkpoint keeps.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/checkpoint_manifest.h"
#include "eave/trainer.h"

namespace eave {

struct NamedSlice {
  std::string name;
  Slice values;
};

// All values that one step changes and a later step needs. A slice lies in the device's memory or in the host's.
std::vector<NamedSlice> state_of(const TrainingParts& parts);

// Settings that must be equal in the run that saved and the run that resumes, by name. "ranks" and "steps per epoch"
// may differ in an elastic resumption.
std::map<std::string, std::string> identity_of(const TrainingParts& parts);

// The moving average goes on as it was when the checkpoint was saved; here `steps` are done. No effect without one.
void resume_average(const TrainingParts& parts, const Manifest& manifest, std::int64_t steps);

// A rank's state at one moment, as it goes into its file.
class SavedState {
 public:
  // Takes the state. `consensus` is the result of Communicator::consensus(), called just before. Values in the host's
  // memory are only referred to, unless `copies` is set: then the state may change once this returns. Memory of an
  // earlier call is used again.
  void take(const TrainingParts& parts, const TrainingProgress& progress, ConstSlice consensus, bool copies);
  const CheckpointHeader& header() const { return header_; }
  const std::vector<ConstSlice>& values() const { return values_; }

 private:
  CheckpointHeader header_;
  std::vector<ConstSlice> values_;
  std::deque<std::vector<float>> copies_;
};

// Writes `values`, in the host's memory, to `into`, which may lie in the device's memory.
void write_values(Device& device, Slice into, ConstSlice values);

}  // namespace eave
