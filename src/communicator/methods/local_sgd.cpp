// Periodic averaging of the parameters (local SGD; Stich 2019, Lin et al. 2020).
//
//   x_i <- x_i - step_i  in every step;   after every tau-th step  x_i <- sum_j w_j x_j,  w_j = n_j / sum_k n_k,
//   n_j = samples of rank j since the exchange before
//
// With tau = 1, plain SGD and any n_j the method is `allreduce`: sum_j w_j (x - lr g_j) = x - lr sum_j w_j g_j. A rank
// without samples takes part with weight 0 and leaves with the mean.
//
// Rounds: each exchange is one all-reduce of the parameters, for which all ranks wait: M bytes, 2 M (p-1)/p on the wire
// per rank. --worker-momentum average adds one all-reduce per vector of the optimizer. --adaptive-tau adds a sum of two
// numbers. Between exchanges ranks send nothing.
//
// --post-local-at T: the first T steps average gradients, as `allreduce` does. The first exchange of parameters follows
// step T + tau (counted from 1). --tau-warmup T: an exchange follows each of the first T steps.
//
// Under Nesterov momentum a worker holds the look-ahead point at which the next gradient is taken, and the method
// averages these points. (downpour and the elastic methods exchange the iterates.) --worker-momentum decides about the
// velocities. With --worker-momentum average the workers' iterates also become their mean, because an iterate is a
// linear function of point and velocity.
//
// consensus() is what an exchange now would give: the workers' mean with the weights of the samples since the last
// exchange. It is computed in a buffer of its own.
//
// --compression: workers send w_j (x_j - b) with error feedback. b is the point from which all went on after the last
// exchange (MeanExchange). Gradients of the first T steps travel as under `allreduce`. consensus() stays the workers'
// mean, uncompressed.
#include <algorithm>
#include <iterator>

#include "base/options/number_text.h"
#include "communicator/methods/allreduce.h"
#include "communicator/outer/worker_momentum.h"
#include "communicator/support/local_steps.h"
#include "communicator/support/weighted_mean.h"
#include "eave/communicator.h"
#include "eave/device.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

struct LocalSgdSettings {
  LocalStepsSettings steps;
  WorkerMomentum momentum = WorkerMomentum::kLocal;
  std::int64_t bucket_bytes = 0;
  std::shared_ptr<const Codec> codec;
  int optimizer_vectors = -1;  // as in CommunicatorContext
  std::string look_ahead;      // a line of the card
};

std::string describe_equation(const LocalSgdSettings& settings, int workers) {
  const std::string tau = std::to_string(settings.steps.tau);
  std::string text =
      "x_i <- x_i - step_i;  after every tau-th step x_i <- sum_j (n_j / n) x_j, n_j = samples of rank j since the "
      "exchange before, n = sum_j n_j\n" +
      (settings.steps.adaptive
           ? "tau_k = ceil(sqrt(F_k / F_0) tau_0), tau_0 = " + tau +
                 ", F_k = mean training loss since the exchange before, F_0 of the first tau_0 steps"
           : "tau = " + tau);
  text += ", p = " + count_text(workers, "worker") + "; " + describe_worker_momentum(settings.momentum) + "\n";
  if (settings.steps.post_local_at > 0) {
    text += "gradients are averaged in the first " + count_text(settings.steps.post_local_at, "step") +
            " instead, g <- sum_i (n_i / n) g_i, at the same lr\n";
  }
  return text + describe_tau_warmup(settings.steps.warmup) + kLocalRate + settings.look_ahead;
}

class LocalSgd final : public Communicator {
 public:
  LocalSgd(Transport& transport, const LocalSgdSettings& settings)
      : transport_(transport),
        settings_(settings),
        steps_(transport, settings.steps),
        mean_(transport),
        parameters_(transport, settings.codec),
        momentum_(transport, settings.momentum, settings.codec, settings.optimizer_vectors) {
    if (settings.steps.post_local_at > 0) {
      gradients_ = make_gradient_averaging(transport, {.bucket_bytes = settings.bucket_bytes, .codec = settings.codec});
    }
  }

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    if (gradients_) {
      gradients_->begin(replica);
    } else {
      seconds_waiting_ += share_replica(transport_, replica);
    }
    momentum_.begin(replica);
    parameters_.begin(*replica.device, replica.parameters);
    consensus_ = replica.device->allocate(replica.parameters.size());
  }

  void before_gradients(const Step& step) override {
    averages_gradients_ = steps_.averages_gradients(step);
    is_consensus_of_now_ = false;
  }

  float gradient_weight(const Step& step) const override {
    return averages_gradients_ ? gradients_->gradient_weight(step) : Communicator::gradient_weight(step);
  }

  bool wants_gradients() const override { return averages_gradients_; }
  bool wants_loss() const override { return settings_.steps.adaptive; }

  void gradient_ready(Slice part) override {
    if (averages_gradients_) gradients_->gradient_ready(part);
  }

  std::optional<Pull> before_update(const Step& step) override {
    return averages_gradients_ ? gradients_->before_update(step) : std::nullopt;
  }

  bool updates(const Step& step) const override { return averages_gradients_ || Communicator::updates(step); }

  void after_update(const Step& step) override {
    if (averages_gradients_) {
      if (step.index + 1 == settings_.steps.post_local_at) agree_on_replicas();
      return;
    }
    mean_.count(step);
    if (steps_.end_step(step)) exchange();
  }

  bool reads_parameters_after(const Step& step) const override { return steps_.exchanges_after(step); }

  ConstSlice consensus() override {
    if (mean_.samples_everywhere() == 0) return replica_.parameters;  // equal on all ranks
    if (!is_consensus_of_now_) {
      replica_.device->copy(consensus_.slice(), replica_.parameters);
      seconds_waiting_ += mean_.average(*replica_.device, consensus_.slice());
      is_consensus_of_now_ = true;
    }
    return consensus_.slice();
  }

  void forget_consensus() override { is_consensus_of_now_ = false; }

  void reset_to_center(const ReplicaView& replica) override {
    Communicator::reset_to_center(replica);
    parameters_.agree_on(replica.parameters);
    parameters_.forget();
    if (gradients_) gradients_->reset_to_center(replica);
    momentum_.reset();
    mean_.reset();
    steps_.restart();
  }

  std::vector<Slice> state() override {
    std::vector<Slice> state = {mean_.state(), steps_.state()};
    parameters_.append_state(state);
    momentum_.append_state(state);
    if (gradients_) std::ranges::copy(gradients_->state(), std::back_inserter(state));
    return state;
  }

  std::vector<Slice> common_state() override { return {steps_.state()}; }
  // Former workers still send what compression has dropped.
  std::vector<Slice> own_state() override {
    std::vector<Slice> state;
    parameters_.append_own_state(state);
    if (gradients_) std::ranges::copy(gradients_->own_state(), std::back_inserter(state));
    return state;
  }

  // All workers hold their mean, so it is the new point b, and momentum begins at 0.
  void join(const Joining&) override {
    parameters_.agree_on(replica_.parameters);
    momentum_.reset();
    mean_.reset();
    steps_.restart();
  }

  // The parameters are equal on all ranks only if an exchange has just taken place, or gradients are averaged. b always
  // is, but a comparison of b alone would take the place of one of the parameters.
  std::vector<Slice> replicated() override {
    if (mean_.samples_everywhere() != 0) return {};
    std::vector<Slice> vectors = {replica_.parameters};
    parameters_.append_agreed(vectors);
    momentum_.append_replicated(vectors);
    return vectors;
  }

  void finish() override { consensus(); }
  std::string equation() const override {
    return describe_equation(settings_, transport_.size()) + parameters_.describe();
  }

  CommunicatorCosts costs() const override {
    return {seconds_waiting_ + (gradients_ ? gradients_->costs().seconds_waiting : 0)};
  }

 private:
  // While gradients are averaged, all ranks hold the same parameters and the same momentum. The exchanges begin after
  // the last of these steps. Until then the values agreed on stay as they are, equal on all ranks too.
  void agree_on_replicas() {
    parameters_.agree_on(replica_.parameters);
    momentum_.agree();
  }

  void exchange() {
    seconds_waiting_ += parameters_.average(mean_, replica_.parameters);
    parameters_.agree_on(replica_.parameters);
    seconds_waiting_ += momentum_.exchange(mean_);
    seconds_waiting_ += steps_.adapt(mean_.samples_everywhere());
    mean_.reset();
  }

  Transport& transport_;
  LocalSgdSettings settings_;
  LocalSteps steps_;
  WeightedMean mean_;
  MeanExchange parameters_;
  MomentumExchange momentum_;
  std::unique_ptr<Communicator> gradients_;  // averages gradients before step --post-local-at; else nullptr
  ReplicaView replica_;
  Buffer consensus_;
  bool averages_gradients_ = false;
  bool is_consensus_of_now_ = false;
  double seconds_waiting_ = 0;
};

LocalSgdSettings resolve_local_sgd(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  LocalSgdSettings settings;
  settings.steps = {tau_in(values), values.integer("post-local-at", 0), tau_warmup_in(values),
                    values.flag("adaptive-tau")};
  if (settings.steps.post_local_at > 0 && settings.steps.warmup > 0) {
    refuse_option(values, "tau-warmup",
                  "contradicts --post-local-at " + values.text("post-local-at") +
                      ": those steps already average gradients, which keeps ranks closer together than tau = 1; give "
                      "one of them");
  }
  if (settings.steps.post_local_at == 0 && values.given("bucket-bytes")) {
    refuse_option(values, "bucket-bytes",
                  "has no effect without --post-local-at: gradients are not exchanged, and the parameters are in one "
                  "piece");
  }
  if (settings.steps.adaptive && settings.steps.tau == 1) {
    refuse_option(values, "adaptive-tau", "needs a --tau above 1 to begin with; as the loss falls, so does tau");
  }
  settings.momentum = worker_momentum_in(values);
  settings.bucket_bytes = bucket_bytes_in(values);
  settings.codec = codec_in(context);
  settings.optimizer_vectors = context.optimizer_vectors;
  settings.look_ahead = describe_averaged_points(context);
  return settings;
}

std::unique_ptr<Communicator> make_local_sgd(const CommunicatorContext& context) {
  const LocalSgdSettings settings = resolve_local_sgd(context);
  refuse_without_vectors(context, settings.momentum);
  const std::int64_t from = settings.steps.post_local_at;
  if (context.steps > 0 && context.steps <= from && context.transport.rank() == 0) {
    context.warnings.push_back("--post-local-at " + std::to_string(from) + ": gradients are averaged in all " +
                               count_text(context.steps, "step") + ", as under --communicator allreduce");
  } else if (settings.steps.warmup == 0) {
    warn_without_exchange(context, from + settings.steps.tau,
                          (from > 0 ? "after step " + std::to_string(from) + " " : std::string()) +
                              "the workers are averaged only for evaluations");
  }
  return std::make_unique<LocalSgd>(context.transport, settings);
}

}  // namespace

CommunicatorKind describe_communicator_local_sgd() {
  return {"local-sgd",
          "workers train on their own; every tau steps their parameters are averaged",
          kAveragesParameters,
          {tau_option(),
           worker_momentum_option(),
           {"post-local-at", OptionType::kInteger, "0", "average gradients for this many steps at the start"},
           tau_warmup_option(),
           {"adaptive-tau", OptionType::kFlag, "off", "lower tau with the square root of the training loss"},
           bucket_bytes_option()},
          make_local_sgd};
}

}  // namespace eave
