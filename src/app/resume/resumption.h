// Finds the checkpoint that a training goes on from: with --resume when it begins, and with --on-nonfinite rollback
// when the loss or the gradient is not finite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/main/command_line.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/options.h"
#include "eave/transport.h"
#include "train/saving/checkpoint_load.h"

namespace eave {

struct Resumption {
  FoundCheckpoint found;
  bool is_elastic = false;                     // the checkpoint has another number of ranks
  bool has_ended = false;                      // the run's results exist
  std::vector<int> ranks_without_access = {};  // as in CheckpointPlan
  // The settings in its config.json that say how long the run was to be.
  std::map<std::string, std::string> config = {};
};

inline bool may_resume(const OptionValues& values) { return values.text("resume") != "off"; }
// Whether a run begins if there is nothing to resume. The same command can then be given again and again.
inline bool may_begin_anew(const OptionValues& values) {
  return values.text("resume") == "auto" || values.text("resume") == "elastic";
}

// Collective. Calls find_checkpoint for the run in a directory that some ranks may not see. Puts these ranks into
// `without_access`.
std::optional<FoundCheckpoint> find_checkpoint_of_run(Transport& transport, const OptionValues& values,
                                                      std::vector<int>& without_access);

// Collective. Returns nothing if the training begins anew. Throws AgreedError if there is no checkpoint: kInputMissing
// (--resume on, or a run has ended there), kDiverged (a run has diverged there); or kBadData (no checkpoint is whole).
std::optional<Resumption> find_resumption(Transport& transport, const OptionValues& values);

// Collective. With --resume auto or elastic, returns whether the run has already ended as the options ask. Rank 0 then
// prints so.
bool has_nothing_to_do(Transport& transport, const CommandLine& line, const OptionValues& values);

// Throws Error(kUsage) if a rollback is asked for and the run keeps no checkpoints.
void check_rollback(const OptionValues& values);

// --on-nonfinite rollback: goes back to the newest checkpoint when the loss or the gradient is not finite.
class Rollback {
 public:
  // Both arguments must outlive this object.
  Rollback(Transport& transport, const OptionValues& values);

  // Collective, with the error that ended the training on all ranks. Returns whether to train again, with values();
  // rank 0 then prints so. Throws AgreedError(kDiverged) if there is no checkpoint to go back to, or none newer than
  // the last time.
  bool goes_back(const AgreedError& error);
  const OptionValues& values() const { return values_; }
  std::int64_t times() const { return times_; }

 private:
  Transport& transport_;
  OptionValues values_;
  const bool is_asked_;
  std::int64_t step_ = -1;  // of the checkpoint that it last went back to
  std::int64_t times_ = 0;
};

}  // namespace eave
