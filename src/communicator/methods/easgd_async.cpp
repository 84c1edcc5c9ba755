// Elastic averaging, asynchronous (Zhang, Choromanska, LeCun 2015, algorithms 1 and 2). Every rank is a worker that
// runs at its own pace. The ranks share out the shards of the center. With --center-ranks, the last ranks keep all
// shards and do not train.
//
// At its steps t = 0, tau, 2 tau ..., worker i computes, all from the values before step t:
//   d = alpha (x_i - c);   c <- c + d;   x_i <- x_i - step_i - d
// An exchange is atomic for each shard: worker and center use the same c. The gradient is taken at x_i before the pull.
// So the exchange hides behind the gradient's computation and stays exact (--async-overlap). With Nesterov workers the
// method is EAMSGD: x_i is the iterate at the rate of step t, as in easgd.cpp, and the pull does not enter the
// velocity.
//
// --pull-delay D, below tau: the worker applies x_i <- x_i - d with step t + D, so the exchange hides behind D more
// steps. The center and d stay the same. The worker applies the pull before its next exchange, so it misses no pull and
// counts none twice. But it takes D of its gradients at a point to which the pull has not been applied yet.
//
// Stability with a delay, on curvature h, without momentum, in round-robin order: the method is stable for
//   alpha < (2 + 2 G)/(1 + G + 2 H)   with G = (1 - lr h)^tau and H = (1 - lr h)^(tau - 1 - D)
// For D = tau - 1 that is (2 + 2 G)/(3 + G), at least 2/3 if lr h <= 1. With D = 0 and tau = 1 it is the paper's bound.
// For one worker these are Jury's conditions on x <- H (1 - lr h)^(D + 1) x - H d, c <- c + d. Other odd numbers of
// workers have the same bound, and even numbers have a larger one. This was computed from the eigenvalues of a round of
// up to 33 workers.
//
// Each exchange is one round: a worker sends a request with x_i to each shard, which answers with d. With M bytes of
// parameters that is 2 M bytes per worker and exchange. The shards that the worker keeps itself, a share of 1/p, need
// no network. No worker waits for a slower one.
//
// In any order, an exchange does not change the sum of all x_i and c. With --compression, x_i arrives rounded, and d is
// rounded before both sides move by it. So the sum still does not change.
//
// A run is deterministic in round-robin order and in a replay. A free run depends on the order of exchanges at each
// shard, which the owners log.
#include "base/options/number_text.h"
#include "communicator/center/async_center.h"
#include "communicator/elastic/easgd_settings.h"
#include "communicator/support/local_steps.h"
#include "eave/check.h"
#include "eave/update_steps.h"
#include "kernels/flat/flat_pass.h"

namespace eave {
namespace {

class EasgdAsync final : public AsyncCenter {
 public:
  EasgdAsync(const CommunicatorContext& context, const AsyncSettings& settings, const ElasticForce& force)
      : AsyncCenter(context.transport, settings, rule(static_cast<float>(force.alpha), settings.codec), {}),
        force_(force),
        rho_(describe_rho(force.rho, context.learning_rate)),
        look_ahead_(describe_pulled_iterates(context)),
        overlap_(context.values.flag("async-overlap")),
        delay_(delay_in(context.values, settings.tau)) {}

  std::optional<Pull> before_update(const Step& step) override {
    if (!overlap_ && exchanges_in(step)) send_iterate(step);
    if (pulls_in(step) || !overlap_) settle();
    return {};
  }

  void after_update(const Step& step) override {
    if (!pulls_in(step)) return;
    replica().device->subtract(replica().parameters, message());
    forget_pull();
  }

  bool reads_parameters_after(const Step& step) const override { return (step.index + 1) % settings().tau == 0; }

  // Drops a pull that was not applied yet, because it belongs to parameters that this worker no longer has.
  void reset_to_center(const ReplicaView& replica) override {
    AsyncCenter::reset_to_center(replica);
    forget_pull();
  }

  // With a delay, message() holds the pull that was not applied yet, or zeros.
  std::vector<Slice> state() override {
    std::vector<Slice> state = AsyncCenter::state();
    if (delay_ > 0) state.push_back(message());
    return state;
  }

  std::vector<Slice> own_state() override {
    if (delay_ == 0) return {};
    return {message()};
  }

  // Applies a pull that is still due. With other ranks the steps are counted anew, so the next exchange may come before
  // the step of the pull.
  void join(const Joining& joining) override {
    if (delay_ == 0) return;
    if (joining.goes_on) replica().device->subtract(replica().parameters, message());
    forget_pull();
  }

  std::string equation() const override {
    return "x_i <- x_i - step_i - d;  c <- c + d;  d = alpha (x_i - c);  all from the values before the step, each "
           "worker on its own clock\nevery tau = " +
           count_text(settings().tau, "step") + "; alpha = " + number_text(force_.alpha) +
           ", beta = " + number_text(force_.beta) + ", " + rho_ + ", p = " + count_text(workers(), "worker") +
           "; overlap " + (overlap_ ? "on" : "off") + describe_delay() + "\n" + describe_async(settings()) +
           "\nstable for alpha <= " + describe_bound() +
           " on curvature h (1 on a flat loss) in round-robin order, for any p, without momentum; " + kLocalRate +
           look_ahead_;
  }

 private:
  static std::int64_t delay_in(const OptionValues& values, std::int64_t tau) {
    const std::int64_t delay = values.integer("pull-delay", 0);
    if (delay < tau) return delay;
    refuse_option(values, "pull-delay",
                  "expected less than tau, " + std::to_string(tau) + ": a pull comes before the next exchange");
  }

  bool pulls_in(const Step& step) const { return step.index >= delay_ && (step.index - delay_) % settings().tau == 0; }

  void forget_pull() {
    if (delay_ > 0) replica().device->fill(message(), 0);
  }

  std::string describe_delay() const {
    if (delay_ == 0) return "";
    return "\npull delay " + std::to_string(delay_) + ": x_i <- x_i - d " + std::to_string(delay_) +
           (delay_ == 1 ? " step" : " steps") + " later, which hide the exchange";
  }

  std::string describe_bound() const {
    if (delay_ == 0) return "(4 - 2 lr h)/(4 - lr h)";
    const std::int64_t after = settings().tau - 1 - delay_;
    const std::string g = "(1 - lr h)^" + std::to_string(settings().tau);
    if (after == 0) return "(2 + 2 G)/(3 + G), G = " + g + ": at least 2/3 where lr h <= 1,";
    return "(2 + 2 G)/(1 + G + 2 H), G = " + g + ", H = (1 - lr h)^" + std::to_string(after) + ",";
  }

  // With a codec the rule rounds d before it moves the center, so the center moves by exactly the d that the worker
  // decodes.
  static CenterRule rule(float alpha, const std::shared_ptr<const Codec>& codec) {
    return [alpha, codec](std::span<const Slice> vectors, Slice message, std::int64_t) {
      const Slice center = vectors.front();
      if (!codec) return void(cpu::run({passes::MeetElastically{alpha}, {center, message}}));
      cpu_device().subtract(message, center);
      cpu_device().scale(message, alpha);
      round_trip(*codec, message);
      cpu_device().add_scaled(center, 1, message);
    };
  }

  void before_gradients_of_worker(const Step& step) override {
    if (overlap_ && exchanges_in(step)) send_iterate(step);
  }

  void send_iterate(const Step& step) {
    replica().device->write_iterate(message(), replica().parameters, step.ahead);
    send();
  }

  const ElasticForce force_;
  const std::string rho_, look_ahead_;  // lines of the card
  const bool overlap_;
  const std::int64_t delay_;  // steps from an exchange to its pull
};

void warn_when_unstable(const CommunicatorContext& context, double alpha) {
  const bool is_late = context.values.integer("pull-delay", 0) > 0;
  if (alpha <= (is_late ? 2.0 / 3 : 1) || context.values.flag("allow-unstable") || context.transport.rank() != 0)
    return;
  const std::string bound = is_late ? "with --pull-delay alpha must be at most 2/3 if tau local steps forget their "
                                      "starting point, at most 1 on a flat loss"
                                    : "alpha must be at most (4 - 2 lr h)/(4 - lr h), 1 on a flat loss";
  context.warnings.push_back("asynchronous elastic averaging is unstable: " + bound + "; in force is " +
                             number_text(alpha) + (is_late ? "; it may diverge" : "; expect divergence") +
                             ". --beta 0.9 is the usual choice; --allow-unstable silences this warning");
}

std::unique_ptr<Communicator> make_easgd_async(const CommunicatorContext& context) {
  const AsyncSettings settings = resolve_async(context, tau_in(context.values));
  const ElasticForce force = resolve_elastic_force(context.values, settings.workers, context.learning_rate, false);
  warn_when_unstable(context, force.alpha);
  warn_without_exchange(context, settings.tau + 1,
                        "the center stays where it begins, but for the exchange before step 1");
  return std::make_unique<EasgdAsync>(context, settings, force);
}

std::vector<OptionSpec> easgd_async_options() {
  std::vector<OptionSpec> all = elastic_force_options();
  all.push_back(tau_option());
  for (const OptionSpec& option : async_options()) all.push_back(option);
  all.push_back({"async-overlap", OptionType::kFlag, "on",
                 "exchange while the gradient is computed; off: exchange afterwards, with the same results"});
  all.push_back(
      {"pull-delay", OptionType::kInteger, "0",
       "number of steps, below tau, from an exchange to its pull; the exchange also overlaps with these steps"});
  return all;
}

}  // namespace

CommunicatorKind describe_communicator_easgd_async() {
  return {"easgd-async",
          "elastic averaging without waiting: each worker exchanges with a sharded center at its own pace",
          {.exchanges = ExchangePattern::kRequests, .has_center = true, .resets_to_center = true, .compresses = true},
          easgd_async_options(),
          make_easgd_async};
}

}  // namespace eave
