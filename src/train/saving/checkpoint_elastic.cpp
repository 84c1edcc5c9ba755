// Resuming with another number of ranks: ElasticResumption of train/saving/checkpoint_load.h.
#include <algorithm>
#include <span>

#include "base/options/number_text.h"
#include "checkpoint/former_workers.h"
#include "communicator/support/plugin_checks.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "train/saving/checkpoint_load.h"
#include "train/saving/checkpoint_state.h"

namespace eave {

namespace {

void require_size(const std::string& name, ConstSlice saved, Slice mine) {
  if (saved.size() == mine.size()) return;
  throw Error(ExitCode::kConfiguration, "the checkpoint's '" + name + "' has " + count_text(saved.size(), "value") +
                                            ", this run's " + std::to_string(mine.size()));
}

bool have_same_names(const std::vector<CheckpointVector>& saved, const std::vector<NamedSlice>& mine) {
  return saved.size() >= mine.size() &&
         std::ranges::equal(std::span(saved).first(mine.size()), mine, {}, &CheckpointVector::name, &NamedSlice::name);
}

// The moving average is equal on all ranks by definition. If a rank has saved other bits, all go on from rank 0's,
// which are those of ema.safetensors.
bool is_average(const NamedSlice& part) { return part.name.starts_with("average."); }

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
    : parts_(parts),
      directory_(plan.checkpoints.directory),
      first_step_(plan.first_step),
      plugin_(plan.plugin),
      manifest_(
          read_manifest_on_all(parts.transport, plan.checkpoints.ranks_without_access, directory_, plan.elastic_step)),
      files_(parts.transport, plan.checkpoints.ranks_without_access, directory_, manifest_) {
  agree(parts_.transport, [&] { check_same_model(directory_, manifest_, parts_, plan.has_other_files); });
  const SavedRank first = files_.read(0);
  agree(parts_.transport, [&] { begin_from_consensus(first); });
}

void ElasticResumption::begin_from_consensus(const SavedRank& first) {
  Replica& replica = parts_.replica;
  const ConstSlice consensus = first.values(first.header.consensus), statistics = first.values("statistics");
  require_size("consensus", consensus, replica.parameters.slice());
  require_size("statistics", statistics, replica.statistics.slice());
  write_values(replica.device, replica.parameters.slice(), consensus);
  write_values(replica.device, replica.statistics.slice(), statistics);
}

TrainingProgress ElasticResumption::load() {
  const std::vector<CheckpointHeader> headers = files_.headers();
  const SavedRank first = files_.read(0);
  keeps_workers_ = keeps_workers(first.header, parts_.communicator, parts_.replica.parameters.slice());
  agree(parts_.transport, [&] { restore_common(first, headers); });
  const int former_workers = static_cast<int>(count_in(manifest_, kWorkers));
  const bool was_there = parts_.transport.rank() < former_workers, goes_on = was_there && keeps_workers_;
  const bool has_own = goes_on || (was_there && !parts_.communicator.own_state().empty());
  const SavedRank mine = files_.read(has_own ? parts_.transport.rank() : -1);
  agree(parts_.transport, [&] {
    if (goes_on) restore_worker(mine);
    if (has_own) restore_own_state(mine);
  });
  resume_average(parts_, manifest_, first_step_);
  parts_.communicator.forget_consensus();
  parts_.communicator.join({goes_on, former_workers, true});
  return progress_after(headers);
}

TrainingProgress ElasticResumption::progress_after(const std::vector<CheckpointHeader>& headers) const {
  const TrainingProgress& former = headers.front().progress;
  TrainingProgress progress;
  progress.steps = first_step_;
  progress.samples = samples_before(parts_.sampler, first_step_);
  progress.seconds = former.seconds;
  progress.waiting = former.waiting;
  progress.bytes = former.bytes;
  progress.repaired = former.repaired;
  progress.nonfinite = share_of_nonfinite(headers, parts_.transport.rank(), parts_.transport.size());
  return progress;
}

void ElasticResumption::restore_worker(const SavedRank& mine) {
  Replica& replica = parts_.replica;
  for (const NamedSlice& part : state_of(parts_)) {
    if (part.name.starts_with("communicator.") || is_average(part)) continue;
    require_size(part.name, mine.values(part.name), part.values);
    write_values(replica.device, part.values, mine.values(part.name));
  }
  if (std::int64_t* count = replica.optimizer.update_count()) *count = mine.header.updates;
}

void ElasticResumption::restore_own_state(const SavedRank& mine) {
  const std::vector<Slice> own = parts_.communicator.own_state();
  for (const NamedSlice& part : state_of(parts_)) {
    if (is_among(own, part.values) && mine.fits(part))
      write_values(parts_.replica.device, part.values, mine.values(part.name));
  }
}

void ElasticResumption::restore_common(const SavedRank& first, const std::vector<CheckpointHeader>& headers) {
  std::vector<CheckpointVector> equal = first.header.vectors;
  for (const CheckpointHeader& header : headers) {
    std::erase_if(equal,
                  [&](const auto& each) { return std::ranges::find(header.vectors, each) == header.vectors.end(); });
  }
  // From one former rank one cannot tell what all ranks had in common, except the optimizer's vectors of averaged
  // gradients. With other groups, a method may keep something else under the same name.
  const bool is_one = std::ssize(manifest_.files) == 1;
  const bool has_method = !is_one && have_same_names(first.header.vectors, state_of(parts_));
  const std::vector<Slice> common = parts_.communicator.common_state();
  for (const NamedSlice& part : state_of(parts_)) {
    const bool is_of_method = part.name.starts_with("communicator.");
    const bool is_shared = !keeps_workers_ || parts_.traits.averages_gradients;
    const bool may_be_equal = is_of_method ? has_method : is_shared || !is_one;
    const bool is_equal = may_be_equal && part.name != "parameters" &&
                          part.values.size() == parts_.replica.parameters.size() &&
                          std::ranges::find(equal, part.name, &CheckpointVector::name) != equal.end();
    if (is_average(part)) require_size(part.name, first.values(part.name), part.values);
    const bool is_common = is_average(part) || is_among(common, part.values), has_fit = first.fits(part);
    if (is_common && is_of_method && !has_fit && !plugin_.empty()) refuse_unfit_slice(plugin_, part.name, part.values);
    if (!(is_equal || is_common) || !has_fit) continue;
    write_values(parts_.replica.device, part.values, first.values(part.name));
    if (part.name != "optimizer.0") continue;
    if (std::int64_t* count = parts_.replica.optimizer.update_count()) *count = first.header.updates;
  }
}

}  // namespace eave
