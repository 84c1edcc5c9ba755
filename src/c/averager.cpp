#include "c/averager.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/host.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "c/job_guard.h"
#include "c/stderr_message.h"
#include "communicator/support/compression.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

// Between two looks at the parameters of methods that do not exchange them.
constexpr std::int64_t kStepsBetweenChecks = 100;

// The averager with a device on the transport of this thread's rank: a transport has one device at a time.
thread_local const void* gpu_in_use = nullptr;

void refuse_rate(double learning_rate, const std::string& call) {
  if (std::isfinite(learning_rate) && learning_rate >= 0) return;
  throw Error(ExitCode::kUsage, call + ": the learning rate is " + std::to_string(learning_rate) +
                                    "; expected a finite number from 0 up");
}

ReplicaComparisonSettings comparison_settings(const Transport& transport, const AveragerOptions& options) {
  ReplicaComparisonSettings settings;
  if (transport.size() > 1 && options.kind->traits.exchanges_together)
    settings.every = options.values.integer("replica-hash-every", 0);
  settings.repairs = options.values.text("on-replica-fault") == "repair";
  settings.causes =
      "its parameters or optimizer (state, learning rate) were changed there alone, as by a checkpoint that one rank "
      "has loaded, or its ranks compute differently, or memory has failed";
  if (options.plugin) settings.plugin = name_of(*options.plugin);
  settings.advice = settings.advice_with_majority =
      "load on all ranks, or before the averager is opened: then rank 0's values go to all; replica-hash-every=0 "
      "compares nothing";
  settings.advice_at_begin = "restore states that were saved together; replica-hash-every=0 compares nothing";
  return settings;
}

}  // namespace

Averager::Averager(Transport& transport, const std::string& options, Slice parameters, Slice gradients,
                   const AveragerJob& job) {
  agree_on_options(transport, options, parameters.size());
  const std::vector<std::string> hosts = transport.all_gather(host_name());
  agree(transport, [&] {
    in_words_of_averager([&] {
      options_ = parse_averager_options(options);
      gate_.emplace(transport, options_.values);
    });
    if (options_.kind->traits.only_one_rank && transport.size() > 1)
      throw Error(ExitCode::kUsage, "communicator=" + options_.kind->name + " is for one rank");
    if (const auto text = limit()) limit_from(*text, "the options");
    open_gpu(parameters, gradients);
  });
  attach_gpu(transport, job);
  replica_ = {.parameters = parameters, .gradients = gradients, .statistics = {}};
  if (gpu_) replica_.device = gpu_.get();
  workers_ = transport.size();
  flags_.emplace(*counting_);
  sample_count_.emplace(*counting_);
  make_communicator(hosts);
  watch_replicas();
  communicator_->begin(replica_);
  replica_.device->wait();
  replicas_->require_same_sizes();
  refuse_what_is_not_finite();
  first_ = hash_of(parameters);
}

// Checked before the first step, because later the optimizer would seem to be the cause. Here all ranks have rank 0's
// values.
void Averager::refuse_what_is_not_finite() {
  if (is_finite(replica_.parameters)) return;
  throw AgreedError(ExitCode::kUsage,
                    "the parameters of rank 0, which all ranks begin with, are not finite before the first step; give "
                    "the model finite values, or load a checkpoint that has them");
}

Averager::~Averager() {
  if (observer_) observer_->averager_is_gone();
  if (gpu_in_use == this) gpu_in_use = nullptr;
}

void Averager::make_communicator(const std::vector<std::string>& hosts, std::int64_t first_step) {
  std::vector<std::string> warnings;
  const OptionValues& values = options_.values;
  agree(*counting_, [&] {
    in_words_of_averager([&] {
      communicator_ = eave::make_communicator(*options_.kind, {.transport = *counting_,
                                                               .values = values,
                                                               .learning_rate = values.real("lr"),
                                                               .warnings = warnings,
                                                               .steps = values.integer("steps", 0),
                                                               .first_step = first_step,
                                                               .seed = values.seed("seed"),
                                                               .settings = options_.settings(),
                                                               .hosts = hosts,
                                                               .optimizer_vectors = 0});
    });
    refuse_demands(*communicator_);
  });
  description_ = communicator_->equation();
  if (has_other_end())
    description_ += "\nhere each call of consensus returns that mean, because any call may be the last";
  for (const std::string& warning : warnings) {
    const std::string own = in_words_of_averager(warning, values);
    description_ += "\nwarning: " + printable(own);
    if (first_step == 0) warn(own);
  }
}

void Averager::watch_replicas() {
  replicas_.emplace(*counting_, *replica_.device,
                    ReplicatedVectors{[this] { return communicator_->replicated(); },
                                      [this] { return communicator_->exchange_under_way(); }},
                    comparison_settings(*counting_, options_), warn);
}

void Averager::open_gpu(Slice parameters, Slice gradients) {
  const OptionValues& values = options_.values;
  if (values.text("device") == "cpu") {
    if (values.given("gpu")) throw Error(ExitCode::kUsage, "gpu=N has no effect without device=cuda");
    return;
  }
  if (gpu_in_use) throw Error(ExitCode::kUsage, "device=cuda: another averager is open; close it first");
  gpu_ = gpu_device(values.integer("gpu", 0));
  if (!gpu_->holds(parameters) || !gpu_->holds(gradients))
    throw Error(ExitCode::kUsage, "parameters and gradients do not lie in the memory of " + gpu_->name());
}

void Averager::attach_gpu(Transport& transport, const AveragerJob& job) {
  if (gpu_) nccl_ = make_gpu_link(transport, *gpu_, job);
  Transport& inner = nccl_ ? *nccl_ : transport;
  if (traits().exchanges == ExchangePattern::kRequests) serving_ = std::make_unique<ServingTransport>(inner, transport);
  Transport& served = serving_ ? *serving_ : inner;
  if (job.lent && !gpu_) borrowing_ = make_borrowing_transport(served, *job.lent);
  counting_ = make_counting_transport(borrowing_ ? *borrowing_ : served);
  if (!gpu_) return;
  attachment_.emplace(*counting_, *gpu_);
  gpu_in_use = this;
}

std::optional<std::string> Averager::limit() const {
  if (!options_.values.given("limit-step")) return std::nullopt;
  return options_.values.text("limit-step");
}

bool Averager::is_compressed() const { return asks_for_compression(options_.values); }

void Averager::enter(Stage from, Stage to, const char* call) {
  if (stage_ == Stage::kOnlyToBeClosed)
    throw Error(
        ExitCode::kUsage,
        std::string(call) + ": the samples of an earlier step did not add up, so this averager can only be closed");
  if (stage_ != from)
    throw Error(ExitCode::kUsage,
                std::string(call) + " is out of turn: a step is begin_step, before_update, after_update");
  stage_ = to;
}

void Averager::refuse_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate) const {
  const bool is_even = samples == 0 && samples_everywhere == 0;
  if (!is_even && (samples < 0 || samples_everywhere < std::max<std::int64_t>(samples, 1)))
    throw Error(ExitCode::kUsage, "begin_step: " + count_text(samples, "sample") + " of " +
                                      std::to_string(samples_everywhere) +
                                      " on all ranks; expected at least 0 here, and at least 1 and as many everywhere");
  refuse_rate(learning_rate, "begin_step");
  if (options_.values.flag("nesterov") && !traits().averages_gradients && step_.ahead.velocity.empty())
    throw Error(
        ExitCode::kUsage,
        "nesterov=on: call eave_look_ahead before the first step, to say how far the parameters are ahead of the "
        "iterate; leave nesterov out if they are the iterate");
}

void Averager::look_ahead(Ahead ahead) {
  if (!options_.values.flag("nesterov"))
    throw Error(
        ExitCode::kUsage,
        "look_ahead has no effect without nesterov=on, with which the parameters are ahead of the iterate: open the "
        "averager with it, or leave the call out");
  if (!std::isfinite(ahead.factor))
    throw Error(ExitCode::kUsage, "look_ahead: the factor is not finite; expected learning rate * momentum, or 1");
  step_.ahead = ahead;
}

void Averager::begin_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate) {
  refuse_step(samples, samples_everywhere, learning_rate);
  tell_first_step();
  is_counted_ = true;
  const bool is_even = samples == 0 && samples_everywhere == 0;
  begin({.samples = samples, .samples_everywhere = samples_everywhere, .learning_rate = learning_rate},
        is_even ? CountedSamples::kEven : CountedSamples::kOfAllRanks);
}

void Averager::begin(const Step& step, CountedSamples counted) {
  if (observer_ && is_counted_ && stage_ == Stage::kBetweenSteps) observer_->before_step(step, counted);
  enter(Stage::kBetweenSteps, Stage::kComputing, "begin_step");
  const bool is_even = counted == CountedSamples::kEven;
  step_.samples = is_even ? 1 : step.samples;
  step_.samples_everywhere = is_even ? workers_ : step.samples_everywhere;
  step_.learning_rate = step.learning_rate;
  has_begun_ = is_gone_on_ = has_stepped_ = true;
  ready_ = size();
  first_ready_ = kNoTensor;
  largest_ready_ = 0;
  communicator_->before_gradients(step_);
  replica_.device->wait();
}

void Averager::change_rate(double learning_rate) {
  if (stage_ == Stage::kBetweenSteps)
    throw Error(ExitCode::kUsage, "change_rate is out of turn: it comes between begin_step and after_update");
  refuse_rate(learning_rate, "change_rate");
  step_.learning_rate = learning_rate;
}

bool Averager::joins_each_step() const { return needs_equal_steps() || has_other_end(); }

// A rank with data needs the count of all samples only once its gradients are complete, unless they are averaged while
// they are computed. Until then it computes and does not wait.
bool Averager::begin_joined_step(std::int64_t samples, std::span<double> numbers, bool& leaves) {
  if (numbers.empty()) throw Error(ExitCode::kUsage, "begin_joined_step: the learning rate is missing");
  refuse_step(samples, std::max<std::int64_t>(samples, 1), numbers[0]);
  if (samples >= SampleCount::kMost / workers_)
    throw Error(ExitCode::kUsage, "begin_joined_step: " + count_text(samples, "sample") +
                                      " in one step; expected fewer than " +
                                      std::to_string(SampleCount::kMost / workers_));
  if (observer_) observer_->refuse_joined(samples);
  enter(Stage::kBetweenSteps, Stage::kBetweenSteps, "begin_joined_step");
  const bool is_collective = is_collective_with(samples);
  if (is_collective) sample_count_->start(samples, leaves, numbers);
  if (!is_collective) {
    tell_first_step();
    begin_alone(samples, numbers[0]);
    return true;
  }
  if (samples > 0) {
    begin_step(samples, samples, numbers[0]);
    if (communicator_->wants_gradients()) step_.samples_everywhere = sample_count_->wait().samples;
    return true;
  }
  const SampleCount::Result all = sample_count_->wait(numbers);
  leaves = all.any_leaves;
  if (all.samples == 0) return false;
  begin_step(0, all.samples, numbers[0]);
  return true;
}

// The method takes the other ranks to do as this one does.
void Averager::begin_alone(std::int64_t samples, double learning_rate) {
  is_counted_ = samples > 0;
  begin({.samples = samples,
         .samples_everywhere = std::max<std::int64_t>(samples, 1) * workers_,
         .learning_rate = learning_rate},
        CountedSamples::kOfThisRank);
}

std::optional<std::int64_t> Averager::awaited() const {
  if (!serving_ || has_begun_ || needs_equal_steps()) return std::nullopt;
  return serving_->number();
}

// The first step's side of meet_first_step.
void Averager::tell_first_step() {
  if (!awaited()) return;
  const std::string mine = std::to_string(*awaited());
  for (const std::string& begun : serving_->all_gather(mine))
    if (!begun.empty() && begun != mine)
      throw Error(ExitCode::kPeerLost,
                  "the ranks are out of step: each takes its first step with another averager; let averagers take "
                  "their first steps in the same order on all ranks");
}

bool Averager::meet_first_step(Transport& transport, const std::vector<Averager*>& averagers) {
  const std::vector<std::string> begun = transport.all_gather("");
  for (Averager* averager : averagers) {
    const std::optional<std::int64_t> number = averager->awaited();
    if (!number || std::ranges::find(begun, std::to_string(*number)) == begun.end()) continue;
    averager->begin_alone(0, averager->options_.values.real("lr"));
    averager->before_update(0);
    averager->after_update();
    return true;
  }
  return false;
}

void Averager::judge_gradients(bool is_finite, const std::string& where) {
  is_left_out_ = !is_finite;
  const std::string place =
      !where.empty() || averages_ || workers_ == 1 ? where : " on rank " + std::to_string(counting_->rank());
  if (!is_finite) check_last_update(averages_);
  gate_->pass(is_finite, averages_, step_.index + 1, step_.learning_rate, place);
}

// Reads all parameters. So it is put off until they are used, or until a gradient is not finite. `on_all_ranks`: all
// ranks call it, and hear of parameters that are not finite on one of them alone.
void Averager::check_last_update(bool on_all_ranks) {
  const std::int64_t step = std::exchange(unchecked_step_, 0);
  if (step == 0) return;
  const auto check = [&] {
    const bool is_whole = is_finite(replica_.parameters);
    const bool reads_velocity = !traits().averages_gradients && !step_.ahead.velocity.empty();
    if (is_whole && (!reads_velocity || is_finite(step_.ahead.velocity))) return;
    throw Error(ExitCode::kDiverged,
                "training diverged: the optimizer has made " +
                    std::string(is_whole ? "a velocity (look_ahead) that is" : "parameters that are") +
                    " not finite in step " + std::to_string(step) + "; try a smaller learning rate, or warm-up");
  };
  on_all_ranks ? agree(*counting_, check) : check();
}

void Averager::after_update() {
  enter(Stage::kUpdating, Stage::kBetweenSteps, "after_update");
  if (!is_left_out_) unchecked_step_ = step_.index + 1;
  const bool is_hundredth = (step_.index + 1) % kStepsBetweenChecks == 0;
  if (is_hundredth || communicator_->reads_parameters_after(step_)) check_last_update(traits().averages_gradients);
  if (!averages_) shares_.count(step_);
  if (communicator_->reads_parameters_after(step_)) check_shares();
  communicator_->after_update(step_);
  replica_.device->wait();
  if (!is_counted_) return;
  ++step_.index;
  if (observer_) observer_->after_step(step_, is_left_out_);
  replicas_->after_step(step_.index - 1);
}

}  // namespace eave
