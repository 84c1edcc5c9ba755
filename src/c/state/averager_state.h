// The state from which an Averager's job can go on later: the parameters and the method's own values of each rank.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c/step_observer.h"
#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/rank_state.h"
#include "eave/communicator.h"

namespace eave {

// The vectors of this rank's state in their order: "parameters", "statistics" (empty), "averager.0" (`counts`), and the
// method's as "communicator.0" and so on.
std::vector<NamedSlice> vectors_of(const ReplicaView& replica, Slice counts, Communicator& communicator);

// The state of this rank as it goes into its file, and the identity of the job.
struct StateToSave {
  std::map<std::string, std::string> identity;
  TakenState taken;
};

// The states that all ranks saved together, as far as this rank needs them.
struct SavedStates {
  Manifest manifest;
  SavedRank mine;  // empty if this rank was not there
  // Only if the number of ranks has changed:
  SavedRank first;                        // rank 0's
  std::vector<CheckpointHeader> headers;  // of all ranks that saved

  int ranks() const { return static_cast<int>(manifest.files.size()); }
};

// The name of the vector that holds the counts of the averager itself.
inline constexpr const char* kCounters = "averager.0";
// The name of the vector that carries the caller's bytes: their number, then the bytes, four in a value.
inline constexpr const char* kCaller = "caller";
std::vector<float> pack_bytes(std::string_view bytes);
std::string_view unpack_bytes(ConstSlice packed);  // throws Error(kBadData)
// The name of the vector with the ObservedSteps of this rank: its numbers, as CheckpointedNumbers. States that nobody
// observed have none.
inline constexpr const char* kObserved = "observed";
std::vector<float> pack_steps(const ObservedSteps& steps);
std::optional<ObservedSteps> observed_in(const SavedRank& state);

// Adds what a saved progress has not told of to its totals, as if that had been told.
void count_as_told(TrainingProgress& progress);
// Restores a state on another number of ranks, as ElasticResumption of `eave train` does. Construct it before
// Communicator::begin: the parameters become the consensus. Then call Communicator::begin, keeps_workers() of
// former_workers.h, restore() with its answer, and Communicator::join with the result. Not collective.
class ElasticState {
 public:
  // `plugin`: name_of() the plug-in that brings the method; empty if it is eave's own.
  ElasticState(const ReplicaView& replica, const SavedStates& saved, int rank, std::string plugin);
  Joining restore(Communicator& communicator, Slice counts, bool keeps_workers);

 private:
  void restore_common(const std::vector<NamedSlice>& vectors, Communicator& communicator) const;

  const ReplicaView& replica_;
  const SavedStates& saved_;
  const bool was_there_;
  const std::string plugin_;
};

}  // namespace eave
