// Where a run stands, kept on disk so that it can go on: DIR/step-N/rank-R.safetensors, one file a rank, and
// DIR/latest, which names the newest step that every rank has written.
#pragma once

#include <cstdint>
#include <filesystem>

#include "eave/trainer.h"

namespace eave {

// Rank 0 or all: the step that DIR/latest names. Throws Error: kInputMissing when there is none, kBadData.
std::int64_t latest_checkpoint(const std::filesystem::path& directory);

// Collective, between steps. All ranks' files are on disk before `latest` names them; then the step before is removed.
// Errors are thrown on all ranks alike (AgreedError: kCannotCreate, kInputOutput).
void save_checkpoint(const std::filesystem::path& directory, const TrainingParts& parts,
                     const TrainingProgress& progress);

// Not collective, before Communicator::begin: throws when this rank's file is missing, damaged or of another run, and
// changes nothing. For what must be known before the results of the earlier run are touched.
void check_checkpoint(const std::filesystem::path& directory, const TrainingParts& parts);

// Collective, after Communicator::begin. Checks the whole file of each rank before it touches the replica. Throws on
// all ranks alike: kInputMissing, kBadData (damaged), kConfiguration (another model, method or number of ranks).
TrainingProgress load_checkpoint(const std::filesystem::path& directory, const TrainingParts& parts);

}  // namespace eave
