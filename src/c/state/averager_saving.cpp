// Implements Averager's saving and restoring.
#include <algorithm>
#include <set>

#include "base/host.h"
#include "base/options/number_text.h"
#include "c/averager.h"
#include "c/state/state_files.h"
#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/former_workers.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/communicator.h"

namespace eave {
namespace {

// The numbers of "averager.0".
enum Count : std::size_t { kSteps, kLeftOut, kInARow, kIsJudged, kFirstHigh, kFirstLow, kCounts };

// Options that may differ when a job goes on: the place and length of the run, and what only finds faults.
bool may_change(const std::string& name, const OptionValues& values) {
  static const std::set<std::string> kFree = {
      "allow-changed-plugin", "communicator", "device",           "gpu",          "steps",  "limit-step",
      "replica-hash-every",   "momentum",     "on-replica-fault", "on-nonfinite", "plugin", "nonfinite-limit",
      "bucket-bytes"};
  if (name == "lr") return !values.entries().contains("rho") || !values.given("rho");
  return kFree.contains(name);
}

std::string in_words(const std::string& name, const std::string& text) {
  if (name == "ranks" || name == "parameters") return text + " " + name;
  return name + "=" + (text.empty() ? "(none)" : text);
}

constexpr const char* kPluginFile = "plugin-file";  // the hash of the plug-in that brings the method

// States from before 2026-11-30 have no such hash.
void refuse_other_plugin(const Plugin& plugin, const SavedStates& saved) {
  const auto before = saved.manifest.identity.find(kPluginFile);
  if (before == saved.manifest.identity.end() || before->second == plugin.file_hash) return;
  throw Error(ExitCode::kConfiguration,
              "the plug-in " + plugin.path + " has changed since this state was saved (hash " + before->second +
                  ", now " + plugin.file_hash +
                  "); go on with the file that it was saved with. If it is the same method, compiled again for another "
                  "eave, give allow-changed-plugin=on");
}

}  // namespace

std::map<std::string, std::string> Averager::identity() const {
  std::map<std::string, std::string> identity = {{"communicator", options_.kind->name},
                                                 {"ranks", std::to_string(workers_)},
                                                 {"parameters", std::to_string(size())}};
  for (const auto& [name, entry] : options_.values.entries())
    if (!may_change(name, options_.values)) identity[name] = entry.text;
  if (options_.plugin) identity[kPluginFile] = options_.plugin->file_hash;
  return identity;
}

std::vector<float> Averager::counts() const {
  CheckpointedNumbers numbers(kCounts);
  numbers.set(kSteps, step_.index);
  numbers.set(kLeftOut, gate_->left_out());
  numbers.set(kInARow, gate_->in_a_row());
  numbers.set(kIsJudged, std::int64_t{is_judged_});
  numbers.set(kFirstHigh, static_cast<std::int64_t>(first_.high));
  numbers.set(kFirstLow, static_cast<std::int64_t>(first_.low));
  const Slice values = numbers.slice();
  return {values.begin(), values.end()};
}

// `step`: where the job goes on if ranks take their steps together.
void Averager::set_counts(Slice counts, std::int64_t step) {
  CheckpointedNumbers numbers(kCounts);
  std::ranges::copy(counts, numbers.slice().begin());
  step_.index = needs_equal_steps() ? step : numbers.integer(kSteps);
  gate_->restore(numbers.integer(kLeftOut), numbers.integer(kInARow));
  is_judged_ = numbers.integer(kIsJudged) != 0;
  first_ = {static_cast<std::uint64_t>(numbers.integer(kFirstHigh)),
            static_cast<std::uint64_t>(numbers.integer(kFirstLow))};
}

// Comes before anything else is sent: what follows is no part of training.
void Averager::meet_to_save() {
  enter(Stage::kBetweenSteps, Stage::kBetweenSteps, "saving");
  if (observer_) observer_->before_meeting();
  counting_->all_gather("");
  if (observer_) observer_->begin_save();
}

StateToSave Averager::take_state(std::string_view caller) {
  let_first_judge(*counting_, [&] {
    if (step_.index == 0 && !has_begun_)
      throw Error(ExitCode::kUsage, "there is nothing to save before the first step: take a step");
  });
  require_equal_steps();
  check_last_update(traits().averages_gradients);
  check_shares();
  const ConstSlice of_all = consensus(false);
  has_stepped_ = false;
  StateToSave state{identity(), {}};
  CheckpointHeader header;
  header.rank = counting_->rank();
  header.ranks = workers_;
  header.configuration = configuration_of(state.identity);
  const std::int64_t steps = std::max<std::int64_t>(step_.index, 1);  // rank 0 may have had no samples
  header.progress.steps = std::stoll(counting_->broadcast_text(std::to_string(steps)));
  header.progress.nonfinite = gate_->left_out();
  header.progress.nonfinite_in_a_row = gate_->in_a_row();
  header.progress.repaired = repaired();
  std::optional<ObservedSteps> observed;
  if (observer_) observed = observer_->before_save(*counting_, header.progress);
  Device& device = *replica_.device;
  std::vector<float> numbers = counts();
  state.taken.begin(header);
  for (const NamedSlice& vector : vectors_of(replica_, numbers, *communicator_))
    state.taken.add(device, vector, of_all, vector.name == kCounters);
  state.taken.add(device, kCaller, pack_bytes(caller), true);
  if (observed) state.taken.add(device, kObserved, pack_steps(*observed), true);
  state.taken.add_consensus(device, of_all, false);
  return state;
}

std::string Averager::state(std::string_view caller) {
  meet_to_save();
  return pack_state(*counting_, take_state(caller));
}

void Averager::save(const std::filesystem::path& directory, std::string_view caller, std::int64_t kept) {
  meet_to_save();
  require_same(*counting_, "the directory " + directory.string() + " to save to");
  save_checkpoint(*counting_, directory, take_state(caller), kept, save_lock_);
  if (observer_) observer_->after_checkpoint();
}

Averager::Restored Averager::restore(const std::vector<std::string_view>& states) {
  refuse_after_steps("restoring a state");
  return restore_saved(unpack_states(*counting_, states));
}

std::optional<Averager::Restored> Averager::load(const std::filesystem::path& directory) {
  refuse_after_steps("loading a checkpoint");
  require_same(*counting_, "the directory " + directory.string() + " to load from");
  const std::optional<SavedStates> saved = load_states(*counting_, directory);
  if (!saved) return std::nullopt;
  Restored restored = restore_saved(*saved);
  former_->directory = directory;
  save_lock_.take_as_own(directory);
  return restored;
}

void Averager::refuse_after_steps(const char* call) {
  agree(*counting_, [&] {
    enter(Stage::kBetweenSteps, Stage::kBetweenSteps, call);
    if (step_.index > 0)
      throw Error(ExitCode::kUsage, std::string(call) +
                                        ": this averager has taken steps already, and what its ranks have "
                                        "exchanged would be lost; close it and open a new one, on all "
                                        "ranks, and load before its first step");
  });
}

void Averager::refuse_other_job(const SavedStates& saved) const {
  const bool is_elastic = saved.ranks() != workers_;
  const std::map<std::string, std::string> identity = this->identity();
  // The method first: other methods have other options.
  std::vector<std::string> names = {"communicator", "parameters"};
  for (const auto& [name, mine] : identity) names.push_back(name);
  for (const std::string& name : names) {
    const bool is_of_groups = name == "groups" || name.starts_with("global-");
    if (name == "ranks" || name == kPluginFile || (is_elastic && is_of_groups)) continue;
    const auto found = saved.manifest.identity.find(name);
    const std::string before = found == saved.manifest.identity.end() ? "" : found->second, mine = identity.at(name);
    if (before == mine) continue;
    throw Error(ExitCode::kConfiguration, "the state was saved with " + in_words(name, before) +
                                              ", and this averager has " + in_words(name, mine) +
                                              "; go on with what it was saved with, or begin anew");
  }
  if (options_.plugin && !options_.values.flag("allow-changed-plugin")) refuse_other_plugin(*options_.plugin, saved);
}

// Makes the communicator anew, because some methods count exchanges from the step at which a run goes on.
void Averager::begin_again(std::int64_t step) {
  const std::vector<std::string> hosts = counting_->all_gather(host_name());
  communicator_.reset();
  make_communicator(hosts, step);
  communicator_->begin(replica_);
  replica_.device->wait();
}

void Averager::restore_own(const SavedStates& saved) {
  std::vector<float> numbers = counts();
  const std::vector<NamedSlice> vectors = vectors_of(replica_, numbers, *communicator_);
  for (const NamedSlice& vector : vectors) {
    const ConstSlice values = saved.mine.values(vector.name);
    if (values.size() != vector.values.size())
      throw Error(ExitCode::kConfiguration, "'" + vector.name + "' of the state has " +
                                                count_text(static_cast<std::int64_t>(values.size()), "value") +
                                                ", here it has " + std::to_string(vector.values.size()) +
                                                "; go on with the method and version of eave that saved it");
  }
  for (const NamedSlice& vector : vectors)
    write_values(*replica_.device, vector.values, saved.mine.values(vector.name));
  set_counts(numbers, saved.manifest.step);
}

// On another number of ranks the method begins from the saved consensus, so then there is nothing to compare.
void Averager::require_saved_consensus(const SavedRank& saved) {
  communicator_->forget_consensus();
  if (!options_.plugin) return;
  const ConstSlice values = counting_->rank() == 0 ? saved.values(saved.header.consensus) : ConstSlice();
  require_restored_consensus(*counting_, *replica_.device, *communicator_, values, plugin_name());
}

Joining Averager::restore_elastic(const SavedStates& saved) {
  Joining joining;
  std::optional<ElasticState> elastic;
  agree(*counting_, [&] { elastic.emplace(replica_, saved, counting_->rank(), plugin_name()); });
  begin_again(saved.manifest.step);
  const bool keeps = keeps_workers(saved.first.header, *communicator_, replica_.parameters);
  agree(*counting_, [&] {
    std::vector<float> numbers = counts();
    joining = elastic->restore(*communicator_, numbers, keeps);
    set_counts(numbers, saved.manifest.step);
    // If gradients are averaged, all ranks have left out the same steps.
    if (!traits().averages_gradients) gate_->restore(share_of_nonfinite(saved.headers, counting_->rank(), workers_), 0);
  });
  replica_.device->wait();
  communicator_->forget_consensus();
  communicator_->join(joining);
  return joining;
}

// With another number of ranks, no line will tell of the steps that none had told of.
TrainingProgress Averager::progress_after(const SavedStates& saved, const SavedRank& state) const {
  TrainingProgress progress = state.header.progress;
  if (saved.ranks() == workers_) return progress;
  count_as_told(progress);
  progress.nonfinite = share_of_nonfinite(saved.headers, counting_->rank(), workers_);
  return progress;
}

// Likewise. All ranks begin with the step of one of them.
std::optional<ObservedSteps> Averager::observed_after(const SavedStates& saved) const {
  if (saved.ranks() == workers_) return observed_in(saved.mine);
  std::optional<ObservedSteps> observed = observed_in(saved.first);
  if (observed) observed->untold = 0;
  return observed;
}

Averager::Restored Averager::restore_saved(const SavedStates& saved) {
  agree(*counting_, [&] { refuse_other_job(saved); });
  int former = counting_->rank();
  if (saved.ranks() == workers_) {
    begin_again(saved.manifest.step);
    agree(*counting_, [&] { restore_own(saved); });
    require_saved_consensus(saved.mine);
  } else if (!restore_elastic(saved).goes_on) {
    if (!traits().averages_gradients) former = -1;
    if (traits().averages_gradients && former >= saved.ranks()) former = 0;
  }
  replica_.device->wait();
  replicas_->begin(step_.index);
  replicas_->compare();
  const bool has_own = former == counting_->rank() && former < saved.ranks();
  const SavedRank& state = has_own ? saved.mine : saved.first;
  former_ = {.progress = progress_after(saved, state), .ranks = saved.ranks(), .observed = observed_after(saved)};
  return {former, std::string(unpack_bytes(state.values(kCaller)))};
}

}  // namespace eave
