// Elastic averaging, asynchronous (Zhang, Choromanska, LeCun 2015, algorithms 1 and 2). Every rank is a worker with a
// clock of its own; the center is cut into shards that the ranks keep (or --center-ranks, which do not train).
//
// Worker i at its steps t = 0, tau, 2 tau ..., all from the values before step t:
//   d = alpha (x_i - c);   c <- c + d;   x_i <- x_i - step_i - d.
// An exchange is atomic for each shard: both sides use the same c. The gradient is that at x_i before the pull, so the
// exchange hides behind its computation and stays exact (--async-overlap). With Nesterov workers this is EAMSGD: x_i is
// the iterate, and the pull does not enter the velocity.
//
// Rounds: one per exchange, a request of x_i per shard, answered by d: 2 M bytes per worker and exchange for M bytes of
// parameters, of which the share of shards that the worker keeps itself, 1/p, stays off the wire. No worker waits for a
// slower one. Whatever the order, the sum of all x_i and c is not changed by an exchange. With --compression, x_i
// arrives rounded, and d is rounded before both sides move by it: the sum is kept all the same.
//
// Deterministic in round-robin order and in a replay; a free run depends on the order of exchanges at each shard, which
// is logged.
#include "base/number_text.h"
#include "communicator/async_center.h"
#include "communicator/elastic_force.h"
#include "communicator/periodic_options.h"
#include "eave/check.h"
#include "kernels/cpu/center.h"

namespace eave {
namespace {

class EasgdAsync final : public AsyncCenter {
 public:
  EasgdAsync(const CommunicatorContext& context, const AsyncSettings& settings, const ElasticForce& force)
      : AsyncCenter(context.transport, settings, rule(static_cast<float>(force.alpha), settings.codec), {}),
        force_(force),
        rho_(describe_rho(force.rho, context.learning_rate)),
        look_ahead_(describe_look_ahead(context)),
        overlap_(context.values.flag("async-overlap")) {}

  std::optional<Pull> before_update(const Step& step) override {
    if (!exchanges_in(step)) return {};
    if (!overlap_) send_iterate(step);
    settle();
    return {};
  }

  void after_update(const Step& step) override {
    if (exchanges_in(step)) replica().device->subtract(replica().parameters, message());
  }

  std::string equation() const override {
    return "x_i <- x_i - step_i - d;  c <- c + d;  d = alpha (x_i - c);  all from the values before the step, each "
           "worker on its own clock\nevery tau = " +
           std::to_string(settings().tau) + " steps; alpha = " + number_text(force_.alpha) +
           ", beta = " + number_text(force_.beta) + ", " + rho_ + ", p = " + std::to_string(workers()) +
           " workers; overlap " + (overlap_ ? "on" : "off") + "\n" + describe_async(settings()) +
           "\nstable for alpha <= (4 - 2 lr h)/(4 - lr h) on curvature h (1 on a flat loss) in round-robin order, for "
           "any p, without momentum; " +
           kLocalRate + look_ahead_;
  }

 private:
  // The center moves by what the worker will read.
  static CenterRule rule(float alpha, const std::shared_ptr<const Codec>& codec) {
    return [alpha, codec](std::span<const Slice> vectors, Slice message, std::int64_t) {
      const Slice center = vectors.front();
      if (!codec) return cpu::meet_elastically(center, message, alpha);
      cpu::subtract(message, center);
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
  const std::string rho_, look_ahead_;  // of the card
  const bool overlap_;
};

void warn_when_unstable(const CommunicatorContext& context, double alpha) {
  if (alpha <= 1 || context.values.flag("allow-unstable") || context.transport.rank() != 0) return;
  context.warnings.push_back(
      "asynchronous elastic averaging is unstable: alpha must be at most (4 - 2 lr h)/(4 - lr h), 1 on a flat loss, in "
      "force is " +
      number_text(alpha) +
      "; expect divergence. --beta 0.9 is the usual choice; --allow-unstable silences this warning");
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
                 "exchange while the gradient is computed; off: after it, same numbers"});
  return all;
}

}  // namespace

CommunicatorKind describe_communicator_easgd_async() {
  return {"easgd-async",
          "elastic averaging without waiting: workers meet a center in shards, each at its own pace",
          {.has_center = true, .resets_to_center = true},
          easgd_async_options(),
          make_easgd_async};
}

}  // namespace eave
