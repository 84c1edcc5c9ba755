// Reads checkpoints: loads one to resume, and reads its model without a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/checkpoint_search.h"
#include "eave/model.h"
#include "eave/trainer.h"

namespace eave {

// Throws Error(kConfiguration) with the first setting that differs between this run and the one that saved. A rank that
// sees its own file compares that file's vectors too. Changes nothing. Not collective; may be called before
// Communicator::begin. `is_elastic`: --resume elastic is given, so the message does not name it.
void check_same_run(const std::filesystem::path& directory, const Manifest& manifest, const TrainingParts& parts,
                    const std::vector<int>& without_access = {}, bool is_elastic = false);
// The same for an elastic resumption: the number of ranks may differ, and with `has_other_files` the samples too.
void check_same_model(const std::filesystem::path& directory, const Manifest& manifest, const TrainingParts& parts,
                      bool has_other_files = false);

// Collective, after Communicator::begin. Checks the whole file of each rank before it changes the replica. Throws on
// all ranks alike: kBadData (missing or damaged), kConfiguration (another run), kInternal (the state of a plug-in does
// not restore its consensus). `plugin`: TrainingPlan::plugin.
TrainingProgress load_checkpoint(const CheckpointPlan& plan, std::int64_t step, const TrainingParts& parts,
                                 const std::string& plugin);

// The first step of a run with another number of ranks that resumes after `samples`. If `samples` is not at the end of
// one of this run's steps, the step that contains it is done again.
std::int64_t step_after_samples(const Sampler& sampler, std::int64_t samples);

// Resuming with another number of ranks. Collective, in two parts. Both throw as load_checkpoint does.
//
// The constructor runs before Communicator::begin. It makes the replica the consensus, so that the method begins from
// it.
//
// load() runs after Communicator::begin:
// - Every rank gets the method's Communicator::common_state.
// - Every rank gets the vectors that are as large as the parameters and were equal on all former ranks, such as the
//   momentum of averaged gradients.
// - A worker that was there before gets its Communicator::own_state.
// - A worker that was there before may also get its own parameters and optimizer state. It does if the consensus is a
//   variable of the method (such as a center), or the parameters of one worker. If the consensus is the workers' mean,
//   all start from it.
// - All other state begins anew, and the method takes the ranks in (Communicator::join).
class ElasticResumption {
 public:
  ElasticResumption(const TrainingParts& parts, const TrainingPlan& plan);
  TrainingProgress load();  // second part, after Communicator::begin

 private:
  void begin_from_consensus(const SavedRank& first);
  void restore_common(const SavedRank& first, const std::vector<CheckpointHeader>& headers);
  void restore_worker(const SavedRank& mine);
  void restore_own_state(const SavedRank& mine);
  TrainingProgress progress_after(const std::vector<CheckpointHeader>& headers) const;

  const TrainingParts& parts_;
  const std::filesystem::path directory_;
  const std::int64_t first_step_;
  const std::string plugin_;
  const Manifest manifest_;
  CheckpointFiles files_;
  bool keeps_workers_ = false;
};

// Reads all files of the checkpoint and checks each against the manifest. Throws Error(kBadData).
void verify_checkpoint(const std::filesystem::path& directory, const Manifest& manifest);

struct CheckpointModel {
  std::vector<float> parameters;  // the consensus
  // The batch-norm statistics with which the consensus is evaluated. If the run measures them anew (kRecompute), these
  // are the average instead.
  std::vector<float> statistics;
};

// `statistics` lists the model's statistics tensors, in pairs of mean and variance. If it is empty, the statistics are
// those of rank 0. Throws Error(kBadData).
CheckpointModel read_checkpoint_model(const std::filesystem::path& directory, const Manifest& manifest,
                                      const std::vector<TensorInfo>& statistics);

}  // namespace eave
