#include "communicator/outer/outer_averaging.h"

#include "base/options/number_text.h"
#include "communicator/support/weighted_mean.h"

namespace eave {
namespace {

constexpr double kLargestRate = 1e6;

std::string describe_limit(const OuterSettings& settings) {
  const std::string& m = settings.momentum_symbol;
  const std::string text = settings.nesterov ? "2 (1 + " + m + ") / (1 + 2 " + m + ") = " : "2 (1 + " + m + ") = ";
  return text + number_text(stable_factor_limit(settings.outer_momentum, settings.nesterov));
}

std::string describe_equation(const OuterSettings& settings, int workers) {
  return "x_i <- x_i - step_i;  after every tau-th step, with G = " +
         std::string(settings.ahead > 0 ? "(c - " + settings.momentum_symbol + " v)" : "c") +
         " - sum_j (n_j / n) x_j, n_j = samples of rank j since the exchange before, n = sum_j n_j:\n" +
         settings.formula + "\ntau = " + std::to_string(settings.steps.tau) + ", " + settings.numbers +
         ", p = " + count_text(workers, "worker") + "; " + describe_worker_momentum(settings.momentum) +
         "; evaluated: c, as the last exchange left it\n" + describe_tau_warmup(settings.steps.warmup) +
         "stable on curvature h while " + settings.factor_symbol + " k < " + describe_limit(settings) +
         ", k = 1 - (1 - lr h)^tau, at most 1 while lr h <= 1; without worker momentum\n" + kLocalRate +
         settings.look_ahead;
}

class OuterAveraging final : public Communicator {
 public:
  OuterAveraging(Transport& transport, const OuterSettings& settings)
      : transport_(transport),
        settings_(settings),
        steps_(transport, settings.steps),
        mean_(transport),
        parameters_(transport, settings.codec),
        momentum_(transport, settings.momentum, settings.codec, settings.optimizer_vectors),
        outer_(settings.ahead) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    seconds_waiting_ += share_replica(transport_, replica);
    momentum_.begin(replica);
    parameters_.begin(*replica.device, replica.parameters);
    outer_.begin(*replica.device, replica.parameters);
  }

  void after_update(const Step& step) override {
    mean_.count(step);
    has_just_exchanged_ = steps_.end_step(step);
    if (has_just_exchanged_) exchange(step);
  }

  bool reads_parameters_after(const Step& step) const override { return steps_.exchanges_after(step); }

  ConstSlice consensus() override { return outer_.center(); }
  // Also sets the center's velocity to 0. Otherwise a method that looks ahead would begin its workers elsewhere than at
  // the center.
  void reset_to_center(const ReplicaView& replica) override {
    Communicator::reset_to_center(replica);
    replica_.device->fill(outer_.velocity(), 0);
    parameters_.agree_on(replica.parameters);
    parameters_.forget();
    momentum_.reset();
    mean_.reset();
  }

  std::vector<Slice> state() override {
    std::vector<Slice> state = {outer_.center(), outer_.velocity(), mean_.state()};
    parameters_.append_state(state);
    momentum_.append_state(state);
    return state;
  }

  // If a center differs on one rank, an exchange passes the difference on to b and to the worker. So b is compared too,
  // and the worker right after an exchange, before a caller can change it.
  std::vector<Slice> replicated() override {
    std::vector<Slice> vectors = {outer_.center(), outer_.velocity()};
    parameters_.append_agreed(vectors);
    if (!has_just_exchanged_) return vectors;
    vectors.push_back(replica_.parameters);
    momentum_.append_replicated(vectors);
    return vectors;
  }
  void forget_consensus() override { has_just_exchanged_ = false; }
  std::vector<Slice> common_state() override { return {outer_.center(), outer_.velocity()}; }
  std::vector<Slice> own_state() override {
    std::vector<Slice> state = {mean_.state()};
    parameters_.append_own_state(state);
    return state;
  }

  void join(const Joining& joining) override {
    Device& device = *replica_.device;
    Buffer begun = device.allocate(replica_.parameters.size());
    if (joining.goes_on && settings_.ahead_of) {
      outer_.write_beginning(begun.slice(), settings_.ahead_of(joining.former_workers));
      device.add_scaled(replica_.parameters, -1, begun.slice());
    }
    outer_.write_beginning(begun.slice(), settings_.ahead);
    if (!joining.goes_on) {
      device.copy(replica_.parameters, begun.slice());
    } else if (settings_.ahead_of) {
      device.add_scaled(replica_.parameters, 1, begun.slice());
    }
    parameters_.agree_on(begun.slice());
    device.wait();  // the device's queue may still read `begun`
    seconds_waiting_ += momentum_.join(mean_);
    mean_.count_anew();
  }

  void finish() override {}
  std::string equation() const override {
    return describe_equation(settings_, transport_.size()) + parameters_.describe();
  }
  CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  void exchange(const Step& step) {
    seconds_waiting_ += parameters_.average(mean_, replica_.parameters);
    outer_.step(replica_.parameters, settings_.step(step.learning_rate));
    parameters_.agree_on(replica_.parameters);
    seconds_waiting_ += momentum_.exchange(mean_);
    mean_.reset();
  }

  Transport& transport_;
  OuterSettings settings_;
  LocalSteps steps_;
  WeightedMean mean_;
  MeanExchange parameters_;
  MomentumExchange momentum_;
  OuterOptimizer outer_;
  ReplicaView replica_;
  bool has_just_exchanged_ = false;  // all workers still are where the exchange has placed them
  double seconds_waiting_ = 0;
};

void warn_of_instability(const CommunicatorContext& context, const OuterSettings& settings) {
  const double limit = stable_factor_limit(settings.outer_momentum, settings.nesterov);
  if (settings.factor < limit || context.transport.rank() != 0) return;
  context.warnings.push_back("the outer step is unstable if workers come near their minimum between two exchanges: --" +
                             settings.factor_option + " is " + number_text(settings.factor) + " and must be below " +
                             describe_limit(settings) + "; expect divergence");
}

}  // namespace

std::vector<OptionSpec> outer_options(const std::string& default_tau, const std::vector<OptionSpec>& own) {
  std::vector<OptionSpec> options = {tau_option(default_tau), worker_momentum_option(), tau_warmup_option()};
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

OuterSettings outer_settings_in(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  OuterSettings settings;
  settings.steps.tau = tau_in(values);
  settings.steps.warmup = tau_warmup_in(values);
  settings.momentum = worker_momentum_in(values);
  settings.codec = codec_in(context);
  settings.optimizer_vectors = context.optimizer_vectors;
  settings.look_ahead = describe_averaged_points(context);
  return settings;
}

double outer_rate_in(const OptionValues& values, const std::string& name) {
  const double rate = values.real(name);
  if (rate > 0 && rate <= kLargestRate) return rate;
  refuse_option(values, name, "expected a number above 0, at most " + number_text(kLargestRate));
}

std::unique_ptr<Communicator> make_outer_averaging(const CommunicatorContext& context, const OuterSettings& settings) {
  refuse_without_vectors(context, settings.momentum);
  if (settings.steps.warmup == 0) {
    warn_without_exchange(context, settings.steps.tau, "the center stays where it began, untrained");
  }
  warn_of_instability(context, settings);
  return std::make_unique<OuterAveraging>(context.transport, settings);
}

}  // namespace eave
