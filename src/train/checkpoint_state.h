// What a checkpoint keeps of a rank.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "eave/trainer.h"
#include "train/checkpoint_format.h"

namespace eave {

struct NamedSlice {
  std::string name;
  Slice values;
};

// Everything that a step reads and a later step needs, in the device's memory or the host's.
std::vector<NamedSlice> state_of(const TrainingParts& parts);

// What must be the same in the run that saved and the run that goes on; and only in one with as many ranks.
std::map<std::string, std::string> identity_of(const TrainingParts& parts);

// A rank's state at one moment, as it goes into its file.
class SavedState {
 public:
  // After consensus(), which is `consensus`. Values that lie in the host's memory are only referred to, unless
  // `copies`: then the state may change once this returns. The memory of a former moment is used again.
  void take(const TrainingParts& parts, const TrainingProgress& progress, ConstSlice consensus, bool copies);
  const CheckpointHeader& header() const { return header_; }
  const std::vector<ConstSlice>& values() const { return values_; }

 private:
  CheckpointHeader header_;
  std::vector<ConstSlice> values_;
  std::deque<std::vector<float>> copies_;
};

// From the host's memory, where the values lie on another device.
void write_values(Device& device, Slice into, ConstSlice values);

}  // namespace eave
