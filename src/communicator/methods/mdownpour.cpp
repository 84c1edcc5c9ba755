// MDOWNPOUR: DOWNPOUR with Nesterov's momentum on the center (Zhang, Choromanska, LeCun 2015, section 5 and algorithms
// 4 and 5). Every rank is a worker that runs at its own pace. The ranks share out the shards of the center. With
// --center-ranks, the last ranks keep all shards and do not train.
//
//   worker i, each step: sends s_i = -eta (g_i(x_i) + wd x_i), receives x_i
//   center:              v <- delta v + s_i;  c <- c + v;  the reply is the look-ahead point c + delta v
//
// Each shard serves one worker after another. Only the center has momentum, delta (--center-momentum). Workers do not
// use their optimizer, except for --weight-decay (wd). tau is 1, because the paper does not say how a worker takes
// local steps when the velocity is elsewhere. v contains the learning rate: after the rate drops, steps of the old rate
// still act through v. With delta = 0 the method is DOWNPOUR with plain SGD and tau = 1.
//
// An exchange is atomic for each shard. It follows the gradient of one step and precedes that of the next. The worker
// waits for the reply, but for no other worker. A worker without samples sends s_i = 0 and so keeps its turn. The
// center still moves by its velocity then.
//
// Each step is one round: a worker sends a request with s_i to each shard, which answers with c + delta v. With M bytes
// of parameters that is 2 M bytes per worker and step. The shards that the worker keeps itself, a share of 1/p, need no
// network. The consensus is c. A run is deterministic in round-robin order and in a replay.

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "communicator/center/async_center.h"
#include "communicator/center/downpour_worker.h"
#include "communicator/support/local_steps.h"
#include "kernels/flat/flat_pass.h"

namespace eave {
namespace {

// --weight-decay belongs to the optimizers. A caller without an optimizer does not have the option.
double weight_decay_in(const OptionValues& values) {
  return values.entries().contains("weight-decay") ? real_in(values, "weight-decay", 0, 1e6) : 0;
}

class Mdownpour final : public AsyncCenter {
 public:
  Mdownpour(const CommunicatorContext& context, double momentum)
      : AsyncCenter(context.transport, resolve_async(context, 1, true), rule(static_cast<float>(momentum)),
                    {.count = 2}),
        momentum_(momentum),
        weight_decay_(weight_decay_in(context.values)) {}

  bool updates(const Step&) const override { return false; }

  void after_update(const Step& step) override {
    if (step.samples > 0) {
      replica().device->write_step(message(), replica().parameters, replica().gradients,
                                   static_cast<float>(step.learning_rate), static_cast<float>(weight_decay_));
    } else {
      replica().device->fill(message(), 0);
    }
    send();
    settle();
    replica().device->copy(replica().parameters, message());
  }

  // New workers begin at c + delta v, the point that a reply of the center would give them.
  void join(const Joining& joining) override {
    if (joining.goes_on) return;
    replica().device->wait();  // earlier writes of the center may still be in the device's queue
    std::vector<float> ahead(replica().parameters.size());
    for (std::size_t i = 0; i < ahead.size(); ++i) {
      ahead[i] = vector_of_center(0)[i] + static_cast<float>(momentum_) * vector_of_center(1)[i];
    }
    replica().device->write(replica().parameters, ahead);
  }

  std::string equation() const override {
    const std::string delta = number_text(momentum_);
    const std::string gradient = weight_decay_ > 0 ? "(g_i + " + number_text(weight_decay_) + " x_i)" : "g_i";
    return "v <- delta v - lr " + gradient +
           ";  c <- c + v;  x_i <- c + delta v, in each step, each worker on its own "
           "clock\ndelta = " +
           delta + ", tau = 1, p = " + count_text(workers(), "worker") +
           ", which send gradients and have no momentum of their own" +
           (weight_decay_ > 0 ? "; weight decay of all parameters" : "") + "\n" + describe_async(settings()) +
           "\nno elastic force: the pushes of all workers add up, so the effective rate grows with p, and above a "
           "limit c diverges;\nin round-robin order it is stable for lr h < " +
           number_text(round_robin_limit(workers(), momentum_)) + " on curvature h; " + kLocalRate;
  }

 private:
  static CenterRule rule(float momentum) {
    return [momentum](std::span<const Slice> vectors, Slice message, std::int64_t) {
      cpu::run({passes::PushIntoVelocity{momentum}, {vectors[0], vectors[1], message}});
    };
  }

  void before_gradients_of_worker(const Step&) override {}

  const double momentum_, weight_decay_;
};

std::vector<OptionSpec> mdownpour_options() {
  std::vector<OptionSpec> all = async_options();
  all.insert(all.begin(),
             {"center-momentum", OptionType::kReal, "0.9", "share of the center's velocity that an update keeps"});
  return all;
}

}  // namespace

CommunicatorKind describe_communicator_mdownpour() {
  return {"mdownpour",
          "workers send gradients to a center that moves with Nesterov's momentum",
          {.exchanges = ExchangePattern::kRequests, .has_center = true, .uses_optimizer = false, .compresses = true},
          mdownpour_options(),
          [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
            return std::make_unique<Mdownpour>(context, real_in(context.values, "center-momentum", 0, 1));
          }};
}

}  // namespace eave
