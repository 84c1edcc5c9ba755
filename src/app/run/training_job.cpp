#include "app/run/training_job.h"

#include <algorithm>
#include <cmath>

#include "app/main/machine.h"
#include "app/options/method_checks.h"
#include "app/options/training_plan.h"
#include "app/run/run_settings.h"
#include "base/host.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "data/images/bad_images.h"
#include "eave/compute.h"
#include "report/text/terminal.h"
#include "train/loop/consensus_average.h"
#include "train/loop/step_gradient.h"

namespace eave {
namespace {

// Up to four windows in a row after the one in which a rank becomes slow, and the next step: 50 steps at most.
constexpr std::int64_t kWatchedSteps = 10;

std::vector<std::int32_t> labels_of(const Dataset& dataset) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(dataset.size()));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = dataset.label(static_cast<std::int64_t>(i));
  return labels;
}

Sampling sampling_of(const std::string& word) {
  if (word == "whole") return Sampling::kWhole;
  return word == "stratified" ? Sampling::kStratified : Sampling::kShard;
}

}  // namespace

TrainingJob::TrainingJob(const OptionValues& values, Transport& transport, const CountingTransport& counting,
                         const std::vector<std::string>& hosts, const DevicePlan& device, const Resumption* resumption,
                         CheckedSamples checked)
    : values_(values),
      transport_(transport),
      counting_(counting),
      resumption_(resumption),
      checked_(std::move(checked)),
      device_plan_(device),
      device_(open_device(device, values)) {
  open_data();
  build_model();
  plan_steps();
  plan_norm_statistics(values_, model_->statistics_size() > 0, plan_);
  build_optimizer();
  read_initial_parameters();
  plan_drops();
  build_communicator(hosts);
  build_average();
  load_images();
}

TrainingJob::~TrainingJob() = default;

void TrainingJob::open_data() {
  data_ = open_data_of_run(values_, checked_);
  if (const std::string looked_at = describe_check(checked_); !looked_at.empty()) data_.note += "; " + looked_at;
  if (transport_.rank() == 0) warnings_ = data_.warnings;
  if (transport_.rank() == 0 && !checked_.bad.empty()) {
    left_out_ = joined_lines(list_bad_samples(checked_.bad, checked_.looked_at,
                                              "--on-bad-image skip leaves them out; if their files are removed, the "
                                              "run stays the same"));
  }
  const auto crop = static_cast<int>(values_.integer("crop", 0, 65536));
  augmentation_.pad = static_cast<int>(values_.integer("pad", 0, 1024));
  augmentation_.crop_height = augmentation_.crop_width = crop;
  augmentation_.flip = values_.flag("flip");
  if (crop == 0 && augmentation_.pad == 0) {
    const int preferred = model_crop(values_.text("model"));
    const ImageShape image = data_.train->shape();
    if (preferred > 0 && preferred <= std::min(image.height, image.width)) {
      augmentation_.crop_height = augmentation_.crop_width = preferred;
    }
  }
  const int workers =
      count_workers(find_kind(communicator_kinds(), values_.text("communicator")), values_, transport_.size());
  batch_per_rank_ = batch_of_rank(values_, workers);
  const Sampling sampling = sampling_of(values_.text("sampling"));
  if (sampling == Sampling::kStratified && data_.train->tokens() != nullptr)
    refuse_option(values_, "sampling", "windows of text have no classes whose shares could be kept: leave it out");
  sampler_ = std::make_unique<Sampler>(
      sampling, data_.train->size(), workers, batch_per_rank_, values_.seed("seed"),
      sampling == Sampling::kStratified ? labels_of(*data_.train) : std::vector<std::int32_t>());
}

// Loads the test set too, because evaluations happen between steps. Activations, parameters and optimizer state come
// first: without resident images a run is slower, and without these it ends. The sets of all ranks of a GPU take at
// most half of what is free then, because Communicator::begin still allocates the vectors of the method.
void TrainingJob::load_images() {
  Device& device = device_.compute->device();
  if (device.kind() == DeviceKind::kCpu) return;
  const int sharing = device_plan_.is_own ? 1 : transport_.size();  // ranks that look at the same free memory, at most
  std::int64_t left = device.free_bytes() / (2 * sharing);
  const auto load = [&](const Dataset& set, bool random) {
    const std::int64_t bytes = set.size() * set.shape().size();
    if (bytes > left) return std::unique_ptr<DeviceImages>();
    auto images = eave::load_images(*device_.compute, data_, set, augmentation_, random, values_.seed("seed"));
    if (images) left -= bytes;
    return images;
  };
  train_images_ = load(*data_.train, true);
  test_images_ = load(*data_.test, false);
  if (data_.validation) validation_images_ = load(*data_.validation, false);
  data_.train_images = train_images_.get();
  data_.validation_images = validation_images_.get();
  data_.test_images = test_images_.get();
}

void TrainingJob::attach_device() { attachment_.emplace(transport_, device_.compute->device()); }

// In a step: fewer than --batch if the training set has fewer for each rank. The same on all ranks.
std::int64_t TrainingJob::most_samples_of_rank() const {
  return (sampler_->samples_of_all_ranks(0) + sampler_->ranks() - 1) / sampler_->ranks();
}

void TrainingJob::build_model() {
  plan_.evaluation_batch = values_.integer("evaluation-batch", 1, 1 << 20);
  plan_.passes = static_cast<int>(values_.integer("accumulate", 1, batch_per_rank_));
  require_model_of_text();
  const double smoothing = values_.has("label-smoothing") ? real_in(values_, "label-smoothing", 0, 1) : 0;
  model_ =
      std::make_unique<Model>(model_specification(values_.text("model")), augmentation_.output(data_.train->shape()),
                              data_.train->classes(), Accumulation::largest_part(most_samples_of_rank(), plan_.passes),
                              *device_.compute, static_cast<float>(smoothing));
  require_model_of_data();
  if (device_.tuning) device_.tuning->file.save();
}

void TrainingJob::plan_steps() {
  traits_ = find_kind(communicator_kinds(), values_.text("communicator")).traits;
  const auto steps_per_epoch = static_cast<double>(sampler_->steps_per_epoch());
  plan_.steps = steps_asked_for();
  plan_.checkpoints = plan_checkpoints(values_);
  if (const auto* const saved = resumption_ ? &resumption_->found.manifest.notes : nullptr;
      saved != nullptr && saved->contains("longest_text"))
    longest_text_ = description_in(*saved, plan_.checkpoints.directory).longest_text;
  plan_.checkpoints.notes = metadata_of(model_description());
  plan_.checkpoints.notes.merge(notes_of(checked_));
  const double evaluate_every = values_.real("evaluate-every");
  if (evaluate_every < 0) refuse_option(values_, "evaluate-every", "expected epochs, or 0 for only at the end");
  if (evaluate_every > 0) {
    plan_.evaluate_every_steps = std::max<std::int64_t>(1, std::llround(evaluate_every * steps_per_epoch));
  }
  if (values_.has("evaluations")) {
    if (values_.given("evaluate-every"))
      refuse_option(values_, "evaluations", "contradicts --evaluate-every; give one");
    plan_.evaluations = values_.integer("evaluations", 1, 1'000'000);
    plan_.evaluate_every_steps = 0;
  }
  plan_.evaluates_workers = values_.flag("evaluate-workers");
  if (!plan_.evaluates_workers && !values_.has("evaluations") && evaluate_every == 0)
    refuse_option(values_, "evaluate-workers", "has no effect with --evaluate-every 0: leave it out");
  plan_.can_resume = !values_.has("replay");
  plan_stop();
  if (resumption_) plan_resumption();
  plan_faults(values_, traits_, transport_.rank(), sampler_->ranks(), model_->parameter_size(), plan_);
  warn_of_passed_fault();
  plan_.clip_norm = real_in(values_, "clip-norm", 0, 1e30);
  plan_.log_every_steps = values_.integer("log-every", 1);
  plan_.watch_every_steps = kWatchedSteps;
  if (values_.has("shape-compute")) plan_.computing_seconds = values_.seconds("shape-compute");
  if (values_.has("slow-rank")) {
    const SlowRank slow = parse_slow_rank(values_.text("slow-rank"), sampler_->ranks());
    if (slow.rank == transport_.rank()) plan_.slow_factor = slow.factor;
  }
}

void TrainingJob::plan_stop() {
  if (values_.has("stop-at-accuracy")) {
    plan_.stop_at_accuracy = values_.real("stop-at-accuracy");
    if (!(plan_.stop_at_accuracy > 0 && plan_.stop_at_accuracy <= 1))
      refuse_option(values_, "stop-at-accuracy", "expected a share above 0 and at most 1, such as 0.9");
    if (data_.train->tokens() != nullptr)
      refuse_option(values_, "stop-at-accuracy", "models of text are judged by perplexity; give --stop-at-loss");
  }
  if (values_.has("stop-at-loss")) {
    plan_.stop_at_loss = values_.real("stop-at-loss");
    if (!(plan_.stop_at_loss > 0)) refuse_option(values_, "stop-at-loss", "expected a loss above 0, such as 1.5");
  }
  if (values_.has("stop-after-time")) plan_.stop_after_seconds = values_.seconds("stop-after-time");
  if (values_.has("stop-after-bytes")) plan_.stop_after_bytes = values_.bytes("stop-after-bytes");
  if (values_.has("stop-after-time") && !(plan_.stop_after_seconds > 0))
    refuse_option(values_, "stop-after-time", "expected more than 0, such as 60s");
  if (values_.has("stop-after-bytes") && plan_.stop_after_bytes <= 0)
    refuse_option(values_, "stop-after-bytes", "expected more than 0, such as 10GB");
  refuse_endless_bytes(values_, traits_, transport_.size());
  plan_.ask_every_steps = std::max<std::int64_t>(1, sampler_->steps_per_epoch() / 20);
  for (const char* option : {"stop-at-accuracy", "stop-at-loss"})
    if (values_.has(option)) refuse_useless_stop(option);
}

void TrainingJob::shorten(std::int64_t steps) {
  plan_.steps = std::min(plan_.steps, steps);
  plan_.evaluate_every_steps = plan_.evaluations = plan_.stop_after_bytes = 0;
  plan_.stop_at_accuracy = plan_.stop_at_loss = plan_.stop_after_seconds = 0;
}

bool TrainingJob::evaluates_only_at_end() const {
  const bool is_spread = plan_.evaluations > 1 && plan_.steps > 1;
  return !is_spread && (plan_.evaluate_every_steps <= 0 || plan_.evaluate_every_steps >= plan_.steps);
}

// Only evaluations can stop a run. If there is none before the end, the option has no effect.
void TrainingJob::refuse_useless_stop(const std::string& stop) const {
  if (evaluates_only_at_end()) {
    const char* option = values_.has("evaluations") ? "evaluations" : "evaluate-every";
    throw Error(ExitCode::kUsage, "--" + stop + " has no effect with --" + option + " " + values_.text(option) +
                                      ": no evaluation comes before the end; evaluate more often");
  }
  refuse_stops_before_average(values_);
}

double TrainingJob::learning_rate_scale() const {
  if (!traits_.averages_gradients) return 0;
  if (values_.text("batch-means") == "per-rank") return sampler_->ranks();
  refuse_scaling_of_total_batch(values_, traits_);
  return 1;
}

void TrainingJob::build_optimizer() {
  std::vector<std::string> warnings;
  optimizer_ =
      traits_.uses_optimizer
          ? find_kind(optimizer_kinds(), values_.text("optimizer"))
                .make({values_, model_->parameter_size(), device_.compute->device(), model_->parameters(), &warnings})
          : make_idle_optimizer();
  if (transport_.rank() == 0) warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
  build_schedule();
  warn_of_long_warmup();
  warn_of_default_epochs();
  replica_ = std::make_unique<Replica>(*model_, *optimizer_, values_.seed("seed"), device_.compute->device());
}

ModelDescription TrainingJob::model_description() const {
  return {model_specification(values_.text("model")),
          augmentation_.output(data_.train->shape()),
          data_.train->classes(),
          text_of_names(data_.class_names),
          describe_input(),
          data_.vocabulary,
          longest_text_};
}

void TrainingJob::plan_drops() {
  plan_.reset_on_drop = values_.text("on-drop") == "reset-to-center";
  if (plan_.reset_on_drop) require_drops();
  warn_without_drop();
}

void TrainingJob::require_drops() const {
  refuse_useless_reset(values_, traits_);
  if (!schedule_->drops_ever()) {
    throw Error(ExitCode::kUsage, "--on-drop reset-to-center has no effect: the learning rate never drops by a step (" +
                                      schedule_->describe() + "); give --lr-schedule step, with --lr-step-epochs");
  }
}

void TrainingJob::build_communicator(const std::vector<std::string>& hosts) {
  communicator_ = make_communicator(
      find_kind(communicator_kinds(), values_.text("communicator")),
      {transport_, values_, schedule_->learning_rate(0), warnings_, plan_.steps, plan_.first_step, values_.seed("seed"),
       settings_of_numbers(values_), hosts, static_cast<int>(replica_->view().optimizer.size())});
  refuse_other_splits(values_, *communicator_);
  if (communicator_->micro_batches() > 0) require_deterministic();
  if (plan_.passes > 1 && plan_.statistics == NormStatistics::kRecompute && model_->statistics_size() > 0)
    refuse_option(values_, "accumulate", "contradicts --batch-norm-statistics recompute, which needs whole batches");
  check_batches_of_norms();
  if (communicator_->moments() == nullptr || replica_->device.kind() == DeviceKind::kCpu) return;
  refuse_option(values_, "batch-norm", "it is computed on the CPU only: leave it out, or give --device cpu");
}

void TrainingJob::build_average() {
  const double decay = real_in(values_, "ema-decay", 0, 1);
  const std::int64_t every = values_.integer("ema-every", 1);
  if (decay == 0) {
    if (values_.given("ema-every") && every != 10)
      refuse_option(values_, "ema-every", "has no effect without --ema-decay");
    return;
  }
  refuse_hidden_waits_for_average(values_, traits_, transport_.size());
  average_ = std::make_unique<ConsensusAverage>(replica_->device, replica_->parameters.size(), decay, every);
  warn_of_young_average();
}

void TrainingJob::check_batches_of_norms() {
  const bool spans_ranks = communicator_->moments() != nullptr;
  const int workers = sampler_->ranks(), micro_batches = communicator_->micro_batches();
  const auto of_one_pass = [&](std::int64_t of_all_ranks) {
    return spans_ranks ? of_all_ranks
                       : std::max<std::int64_t>(of_all_ranks / std::max(workers * plan_.passes, micro_batches), 1);
  };
  const std::int64_t last = sampler_->samples_of_all_ranks(sampler_->steps_per_epoch() - 1);
  const std::string warning =
      check_norm_batches(model_->least_norm_positions(), of_one_pass(batch_per_rank_ * workers), of_one_pass(last));
  if (!warning.empty() && transport_.rank() == 0) warnings_.push_back(warning);
}

void TrainingJob::require_deterministic() const {
  if (replica_->device.kind() == DeviceKind::kCpu || values_.flag("deterministic")) return;
  throw Error(ExitCode::kUsage, "--reproducible on a GPU needs --deterministic: give it too");
}

TrainingParts TrainingJob::parts() {
  TrainingParts parts{*replica_,  *communicator_, traits_,   transport_,   counting_,
                      *schedule_, data_,          *sampler_, augmentation_};
  parts.average = average_.get();
  return parts;
}

double TrainingJob::epochs() const {
  return static_cast<double>(plan_.steps) / static_cast<double>(sampler_->steps_per_epoch());
}

RankFacts TrainingJob::facts() {
  Sampler sampler = *sampler_;
  return {host_name(),
          device_.compute->device().name(),
          core_binding(),
          class_histogram(*data_.train, sampler, 0, transport_.rank()),
          transport_.rank() < sampler.ranks(),
          limiting_group()};
}

void TrainingJob::save_model(const OutputPath& path) {
  const ConstSlice consensus = communicator_->consensus();
  write_consensus(path, consensus, statistics_for_consensus(parts(), plan_));
}

void TrainingJob::save_average(const OutputPath& path) {
  const bool has_its_own = plan_.statistics == NormStatistics::kRecompute;
  write_consensus(
      path, average_->values(),
      has_its_own ? statistics_for(parts(), plan_, average_->values()) : statistics_for_consensus(parts(), plan_));
}

void TrainingJob::write_consensus(const OutputPath& path, ConstSlice of_device, const std::vector<float>& statistics) {
  if (transport_.rank() != 0) return;
  std::vector<float> copy;  // a copy on the host of a GPU's memory
  if (replica_->device.kind() != DeviceKind::kCpu) {
    copy.resize(of_device.size());
    replica_->device.read(of_device, copy);
  }
  write_model(path, model_description(), TensorLayout::kEave, copy.empty() ? of_device : ConstSlice(copy), statistics);
}

}  // namespace eave
