// Going on with another number of ranks.
#include <algorithm>
#include <span>

#include "eave/check.h"
#include "train/checkpoint_directory.h"
#include "train/checkpoint_load.h"
#include "train/checkpoint_state.h"

namespace eave {
namespace {

// A rank's file of the former run.
struct FormerRank {
  CheckpointHeader header;
  std::vector<float> body;

  ConstSlice values(const std::string& name) const {
    std::size_t place = 0;
    for (const CheckpointVector& vector : header.vectors) {
      if (vector.name == name) return ConstSlice(body).subspan(place, vector.size);
      place += vector.size;
    }
    throw Error(ExitCode::kBadData, "a checkpoint's rank " + std::to_string(header.rank) + " has no '" + name + "'");
  }
};

FormerRank read_former(const TrainingPlan& plan, const Manifest& manifest, int rank) {
  FormerRank former;
  former.header = read_rank(plan.checkpoints.directory, manifest, rank, &former.body);
  return former;
}

void require_size(const std::string& name, ConstSlice saved, Slice mine) {
  if (saved.size() == mine.size()) return;
  throw Error(ExitCode::kConfiguration, "the checkpoint's '" + name + "' has " + std::to_string(saved.size()) +
                                            " values, this run's " + std::to_string(mine.size()));
}

bool have_same_names(const std::vector<CheckpointVector>& saved, const std::vector<NamedSlice>& mine) {
  return saved.size() >= mine.size() &&
         std::ranges::equal(std::span(saved).first(mine.size()), mine, {}, &CheckpointVector::name, &NamedSlice::name);
}

std::int64_t samples_before(const Sampler& sampler, std::int64_t step) {
  const std::int64_t in_epoch = sampler.steps_per_epoch();
  const auto first = [&](std::int64_t steps) {
    std::int64_t samples = 0;
    for (std::int64_t i = 0; i < steps; ++i) samples += sampler.samples_of_all_ranks(i);
    return samples;
  };
  return step / in_epoch * first(in_epoch) + first(step % in_epoch);
}

}  // namespace

std::int64_t step_after_samples(const Sampler& sampler, std::int64_t samples) {
  const std::int64_t in_epoch = sampler.steps_per_epoch();
  const std::int64_t of_epoch = samples_before(sampler, in_epoch);
  std::int64_t step = samples / of_epoch * in_epoch;
  std::int64_t left = samples % of_epoch;
  while (left >= sampler.samples_of_all_ranks(step % in_epoch)) left -= sampler.samples_of_all_ranks(step++ % in_epoch);
  return step;
}

ElasticResumption::ElasticResumption(const TrainingParts& parts, const TrainingPlan& plan)
    : parts_(parts), plan_(plan) {
  agree(parts_.transport, [this] {
    manifest_ = read_manifest(plan_.checkpoints.directory, plan_.elastic_step);
    check_same_model(plan_.checkpoints.directory, manifest_, parts_);
    read_consensus();
  });
}

void ElasticResumption::read_consensus() {
  const FormerRank first = read_former(plan_, manifest_, 0);
  Replica& replica = parts_.replica;
  keeps_workers_ =
      first.header.consensus.starts_with("communicator.") || parts_.communicator.consensus_is_first_worker();
  const ConstSlice consensus = first.values(first.header.consensus), statistics = first.values("statistics");
  require_size("consensus", consensus, replica.parameters.slice());
  require_size("statistics", statistics, replica.statistics.slice());
  write_values(replica.device, replica.parameters.slice(), consensus);
  write_values(replica.device, replica.statistics.slice(), statistics);
}

TrainingProgress ElasticResumption::load() {
  TrainingProgress progress;
  agree(parts_.transport, [&] {
    restore_common();
    restore_own();
    const TrainingProgress former = read_rank(plan_.checkpoints.directory, manifest_, 0, nullptr).progress;
    progress.steps = plan_.first_step;
    progress.samples = samples_before(parts_.sampler, plan_.first_step);
    progress.seconds = former.seconds;
    progress.waiting = former.waiting;
    progress.bytes = former.bytes;
    progress.repaired = former.repaired;
    for (int rank = parts_.transport.rank(); rank < std::ssize(manifest_.files); rank += parts_.transport.size()) {
      progress.nonfinite += read_rank(plan_.checkpoints.directory, manifest_, rank, nullptr).progress.nonfinite;
    }
  });
  return progress;
}

void ElasticResumption::restore_own() {
  const int rank = parts_.transport.rank();
  if (!keeps_workers_ || rank >= count_in(manifest_, kWorkers)) return;
  const FormerRank mine = read_former(plan_, manifest_, rank);
  Replica& replica = parts_.replica;
  write_values(replica.device, replica.parameters.slice(), mine.values("parameters"));
  write_values(replica.device, replica.statistics.slice(), mine.values("statistics"));
}

void ElasticResumption::restore_common() {
  const FormerRank first = read_former(plan_, manifest_, 0);
  std::vector<CheckpointVector> common = first.header.vectors;
  for (int rank = 1; rank < std::ssize(manifest_.files); ++rank) {
    const auto others = read_rank(plan_.checkpoints.directory, manifest_, rank, nullptr).vectors;
    std::erase_if(common, [&](const auto& each) { return std::ranges::find(others, each) == others.end(); });
  }
  // What one rank had cannot be told from what all had, nor what a method of other groups keeps under a name.
  const bool has_method = std::ssize(manifest_.files) > 1 && have_same_names(first.header.vectors, state_of(parts_));
  for (const NamedSlice& part : state_of(parts_)) {
    if (part.name.starts_with("communicator.") && !has_method) continue;
    const bool is_common = std::ranges::find(common, part.name, &CheckpointVector::name) != common.end();
    if (!is_common || part.name == "parameters" || part.values.size() != parts_.replica.parameters.size()) continue;
    const ConstSlice saved = first.values(part.name);
    if (saved.size() != part.values.size()) continue;
    write_values(parts_.replica.device, part.values, saved);
    if (part.name != "optimizer.0") continue;
    if (std::int64_t* count = parts_.replica.optimizer.update_count()) *count = first.header.updates;
  }
}

}  // namespace eave
