#include "train/saving/checkpoint_load.h"

#include <set>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_transfer.h"
#include "communicator/support/plugin_checks.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "train/loop/statistics_mixture.h"
#include "train/saving/checkpoint_state.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// The message names the checkpoint and not the rank's file, so that all ranks say the same.
void require_same(const fs::path& place, const std::string& key, const std::string& saved, const std::string& mine) {
  if (saved == mine) return;
  throw Error(ExitCode::kConfiguration, place.string() + " was saved with " + key + " " + saved + ", this run has " +
                                            mine + "; resume with the settings in config.json" +
                                            (key == "ranks" ? ", or with --resume elastic" : ""));
}

// Only images of named classes may be added or removed.
void require_same_data(const fs::path& place, const DataSplit& data, const std::string& saved, bool is_elastic) {
  if (saved == data.identity) return;
  throw Error(
      ExitCode::kConfiguration,
      place.string() + " was saved with other data: " + data.differences +
          "; give the data that the run began with, or begin anew in another directory" +
          (is_elastic || data.class_names.empty()
               ? ""
               : ". If images were added or removed, and classes were not, --resume elastic goes on with them"));
}

// Whether the checkpoint records this setting. Early checkpoints do not record the identity of the data.
bool tells(const Manifest& manifest, const std::string& key) {
  return key != "data" || manifest.identity.contains(key);
}

void require_same_identity(const fs::path& directory, const Manifest& manifest, const TrainingParts& parts,
                           const std::set<std::string>& free, bool is_elastic) {
  const fs::path place = checkpoint_path(directory, manifest.step);
  for (const auto& [key, mine] : identity_of(parts)) {
    const auto saved = manifest.identity.find(key);
    if (free.contains(key) || !tells(manifest, key)) continue;
    if (key == "data") {
      require_same_data(place, parts.data, saved->second, is_elastic);
    } else {
      require_same(place, key, saved == manifest.identity.end() ? "none" : saved->second, mine);
    }
  }
}

template <class Vectors>
std::string names_of(const Vectors& vectors) {
  std::string names;
  for (const auto& vector : vectors) {
    if (vector.name != "consensus") names += (names.empty() ? "" : ", ") + vector.name;
  }
  return names;
}

void require_same_vectors(const fs::path& directory, const Manifest& manifest, const TrainingParts& parts,
                          const CheckpointHeader& header) {
  require_same(checkpoint_path(directory, manifest.step), "vectors", names_of(header.vectors),
               names_of(state_of(parts)));
}

// Checks all sizes before it writes any value.
void restore(const fs::path& place, const TrainingParts& parts, const CheckpointHeader& header, ConstSlice body) {
  const std::vector<NamedSlice> state = state_of(parts);
  for (std::size_t i = 0; i < state.size(); ++i) {
    require_same(place, "values of " + state[i].name, std::to_string(header.vectors[i].size),
                 std::to_string(state[i].values.size()));
  }
  for (const NamedSlice& part : state) {
    write_values(parts.replica.device, part.values, body.first(part.values.size()));
    body = body.subspan(part.values.size());
  }
  if (std::int64_t* count = parts.replica.optimizer.update_count()) *count = header.updates;
}

// Collective. Only rank 0's file always has the consensus.
void require_same_model(const TrainingParts& parts, const SavedRank& saved, const std::string& plugin) {
  const ConstSlice consensus = parts.transport.rank() == 0 ? saved.values(saved.header.consensus) : ConstSlice();
  require_restored_consensus(parts.transport, parts.replica.device, parts.communicator, consensus, plugin);
}

std::vector<float> copy_of(ConstSlice values) { return {values.begin(), values.end()}; }

std::vector<float> merge(const std::vector<std::vector<float>>& of_ranks, const std::vector<TensorInfo>& tensors) {
  if (of_ranks.size() == 1) return of_ranks[0];
  StatisticsMixture mixture(tensors, of_ranks[0].size());
  for (const std::vector<float>& each : of_ranks) mixture.add(each, 1);
  return mixture.merged();
}

}  // namespace

void check_same_run(const fs::path& directory, const Manifest& manifest, const TrainingParts& parts,
                    const std::vector<int>& without_access, bool is_elastic) {
  require_same_identity(directory, manifest, parts, {}, is_elastic);
  if (lacks_access(without_access, parts.transport.rank())) return;
  require_same_vectors(directory, manifest, parts, read_rank(directory, manifest, parts.transport.rank(), nullptr));
}

void check_same_model(const fs::path& directory, const Manifest& manifest, const TrainingParts& parts,
                      bool has_other_files) {
  std::set<std::string> free = {"ranks", "steps per epoch"};
  if (has_other_files) free.insert({"data", "training samples"});
  require_same_identity(directory, manifest, parts, free, true);
}

TrainingProgress load_checkpoint(const CheckpointPlan& plan, std::int64_t step, const TrainingParts& parts,
                                 const std::string& plugin) {
  const fs::path directory = plan.directory;
  const Manifest manifest = read_manifest_on_all(parts.transport, plan.ranks_without_access, directory, step);
  agree(parts.transport, [&] { require_same_identity(directory, manifest, parts, {}, false); });
  const SavedRank saved =
      CheckpointFiles(parts.transport, plan.ranks_without_access, directory, manifest).read(parts.transport.rank());
  agree(parts.transport, [&] {
    require_same_vectors(directory, manifest, parts, saved.header);
    restore(checkpoint_path(directory, step), parts, saved.header, saved.body);
    resume_average(parts, manifest, step);
  });
  parts.communicator.forget_consensus();
  if (!plugin.empty()) require_same_model(parts, saved, plugin);
  return saved.header.progress;
}

void verify_checkpoint(const std::filesystem::path& directory, const Manifest& manifest) {
  for (int rank = 0; rank < std::ssize(manifest.files); ++rank) read_rank(directory, manifest, rank, nullptr);
}

CheckpointModel read_checkpoint_model(const std::filesystem::path& directory, const Manifest& manifest,
                                      const std::vector<TensorInfo>& statistics) {
  CheckpointModel model;
  std::vector<std::vector<float>> of_ranks;
  for (int rank = 0; rank < count_in(manifest, kStatistics); ++rank) {
    SavedRank saved;
    saved.header = read_rank(directory, manifest, rank, &saved.body);
    if (rank == 0) model.parameters = copy_of(saved.values(saved.header.consensus));
    of_ranks.push_back(copy_of(saved.values("statistics")));
    if (of_ranks.back().size() != of_ranks[0].size()) {
      throw Error(ExitCode::kBadData, "the checkpoint's ranks have statistics of different models");
    }
    if (statistics.empty()) break;
  }
  model.statistics = merge(of_ranks, statistics);
  return model;
}

}  // namespace eave
