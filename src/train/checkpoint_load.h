// Going on from a checkpoint: finds the newest that is whole, and loads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eave/trainer.h"
#include "train/checkpoint_files.h"
#include "train/checkpoint_manifest.h"

namespace eave {

struct FoundCheckpoint {
  Manifest manifest;
  std::vector<std::string> passed_over;  // newer ones, with what is wrong with them
};

// Collective: the newest checkpoint all of whose files are what was written. Each rank that sees them reads its share.
// No run is writing there: one that was being replaced when its run ended gets its name again.
// `blind`: as CheckpointPlan::blind_ranks.
// Nothing: there is none. Throws AgreedError(kBadData) where there are some, and none is whole.
std::optional<FoundCheckpoint> find_checkpoint(Transport& transport, const std::filesystem::path& directory,
                                               const std::vector<int>& blind = {});

// Not collective, also before Communicator::begin: throws Error(kConfiguration) naming what is another in this run
// than in the one that saved; of this rank's own file only where it sees it. Changes nothing.
void check_same_run(const std::filesystem::path& directory, const Manifest& manifest, const TrainingParts& parts,
                    const std::vector<int>& blind = {});
// The same, where the number of ranks may be another, and, with other files, the samples.
void check_same_model(const std::filesystem::path& directory, const Manifest& manifest, const TrainingParts& parts,
                      bool has_other_files = false);

// Collective, after Communicator::begin. Checks the whole file of each rank before it touches the replica. Throws on
// all ranks alike: kBadData (missing, damaged), kConfiguration (another run).
TrainingProgress load_checkpoint(const CheckpointPlan& plan, std::int64_t step, const TrainingParts& parts);

// The first step of a run with another number of ranks that goes on after `samples`, or after as many fewer as a step
// of its own may have.
std::int64_t step_after_samples(const Sampler& sampler, std::int64_t samples);

// Collective, in two parts. Before Communicator::begin: the replica becomes the consensus, so that the method begins
// from it. After: where the consensus is a variable of the method's own, such as a center, or one worker's, a worker
// that was there before has its own parameters and optimizer state back; where it is the workers' mean, they met in it.
// Every rank gets what the method says is common to all (Communicator::common_state), and what is as large as the
// parameters and was the same on several former ranks (momentum of averaged gradients). A rank that was there gets what
// the method says is its own (own_state). The rest begins anew, and the method joins the ranks (Communicator::join).
// Throws as load_checkpoint.
class ElasticResumption {
 public:
  ElasticResumption(const TrainingParts& parts, const TrainingPlan& plan);
  TrainingProgress load();  // after Communicator::begin

 private:
  struct FormerRank;

  FormerRank read_former(int rank);  // collective: on each rank that of another; -1: of none
  void begin_from_consensus(const FormerRank& first);
  bool has_center() const;
  void restore_common(const FormerRank& first, const std::vector<CheckpointHeader>& headers);
  void restore_worker(const FormerRank& mine);
  void restore_own_state(const FormerRank& mine);
  TrainingProgress progress_after(const std::vector<CheckpointHeader>& headers) const;

  const TrainingParts& parts_;
  const std::filesystem::path directory_;
  const std::int64_t first_step_;
  const Manifest manifest_;
  CheckpointFiles files_;
  bool keeps_workers_ = false;
};

}  // namespace eave
