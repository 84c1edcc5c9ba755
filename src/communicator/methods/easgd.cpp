// Elastic averaging, synchronous and without a server (Zhang, Choromanska, LeCun 2015, section 3). Every rank is a
// worker. Every rank also holds the center c, with the same bits everywhere.
//
// Order `paper` exchanges at steps t = tau, 2 tau, 3 tau …, where t counts from 0. So the first exchange sees tau local
// steps. (At t = 0 all differences would be 0.) All right-hand sides use the values before step t:
//   d_i = alpha (x_i - c);   x_i <- x_i - step_i - d_i;   c <- c + sum_j d_j
//   The center's part equals c <- (1 - beta) c + beta mean(x) with beta = p alpha.
// In eave.h the caller's own optimizer takes the step after the pull. Its gradient is from before the step, but weight
// decay acts on x_i - d_i: that differs by lr decay d_i. Keeping d_i for later would take another pass.
//
// Order `after-step` exchanges after the update of steps t with t + 1 = tau, 2 tau, …. Its formula is the same with x_i
// from after the step.
//
// Order `center-first` exchanges at the same times as `after-step`. With alpha = beta = 1 it is plain averaging of the
// parameters. Its formula:
//   c <- c + (beta/p) sum_j (x_j - c),  then  x_i <- x_i - alpha (x_i - c) with the new c
//
// Each exchange is one all-reduce of d: M bytes of parameters, 2 M (p-1)/p on the wire per rank. In the first two
// orders x_i needs only its own d_i, and c is not read before the next exchange or consensus(). So the all-reduce runs
// behind the following steps and is exact. Only the next reader of c waits for it. In order `center-first` ranks wait
// at once.
//
// With Nesterov workers the method is EAMSGD (section 4 of the paper). Then x_i is the iterate. The parameters y_i are
// the look-ahead point at which the gradient is taken (Ahead in update_steps.h). The pull does not enter the velocity.
// With --momentum-correction x_i = y_i + lr mu v_i, where lr is that of step t, to which the exchange belongs. If lr
// drops at step t, y_i stays, and x_i is the iterate at the new rate. So the step is one of Nesterov's method at the
// new rate, x_i <- x_i - lr v_i. Without the correction x_i = y_i + mu v_i, whatever lr is.
//
// --compression: the sum of d goes with error feedback (Compression in transport.h), with residual e_i on rank i. A
// worker moves by all of its d_i, and the center by the part that has arrived.
//
// In the first two orders an exchange does not change the sum of all x_i, c and e_i. Every rank moves c by one addition
// of the same sum, so the ranks' centers cannot differ.
#include <algorithm>
#include <utility>

#include "communicator/elastic/easgd_settings.h"
#include "communicator/support/compression.h"
#include "communicator/support/local_steps.h"
#include "eave/communicator.h"
#include "eave/device.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

class Easgd final : public Communicator {
 public:
  Easgd(Transport& transport, const EasgdSettings& settings, std::shared_ptr<const Codec> codec, std::string look_ahead)
      : transport_(transport),
        settings_(settings),
        feedback_(std::move(codec)),
        look_ahead_(std::move(look_ahead)),
        alpha_(static_cast<float>(settings.alpha)) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    seconds_waiting_ += share_replica(transport_, replica);
    center_ = replica.device->allocate(replica.parameters.size());
    difference_ = transport_.lend(replica.parameters.size());
    if (difference_.empty()) {
      own_difference_ = replica.device->allocate(replica.parameters.size());
      difference_ = own_difference_.slice();
    }
    feedback_.begin(replica.parameters.size());
    replica.device->copy(center_.slice(), replica.parameters);
  }

  std::optional<Pull> before_update(const Step& step) override {
    if (settings_.order != ElasticOrder::kPaper || !exchanges_in(step)) return {};
    return pull();
  }

  void after_update(const Step& step) override {
    if (!exchanges_in(step)) return;
    switch (settings_.order) {
      case ElasticOrder::kPaper:
        return start(step);
      case ElasticOrder::kAfterStep:
        return exchange_after_step(step);
      case ElasticOrder::kCenterFirst:
        return exchange_center_first(step);
    }
  }

  bool reads_parameters_after(const Step& step) const override { return (step.index + 1) % settings_.tau == 0; }

  ConstSlice consensus() override {
    settle();
    return center_.slice();
  }

  void reset_to_center(const ReplicaView& replica) override {
    Communicator::reset_to_center(replica);
    feedback_.forget();
  }

  std::vector<Slice> state() override {
    std::vector<Slice> state = {center_.slice()};
    feedback_.append_state(state);
    return state;
  }

  std::vector<Slice> own_state() override { return feedback_.state(); }

  std::vector<Slice> replicated() override { return {center_.slice()}; }
  std::optional<std::int64_t> exchange_under_way() const override {
    return is_center_behind_ ? std::optional(last_exchange_) : std::nullopt;
  }
  void finish() override { settle(); }
  std::string equation() const override {
    return describe_equation(settings_) + feedback_.describe("d_i") + look_ahead_;
  }
  CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  bool exchanges_in(const Step& step) const {
    if (settings_.order == ElasticOrder::kPaper) return step.index > 0 && step.index % settings_.tau == 0;
    return (step.index + 1) % settings_.tau == 0;
  }

  // The update that applies the pull also adds the last exchange's sum to the center, in the same pass.
  Pull pull() {
    if (is_center_behind_) seconds_waiting_ += exchange_.wait();
    return {center_.slice(), alpha_, difference_, std::exchange(is_center_behind_, false)};
  }

  void exchange_after_step(const Step& step) {
    replica_.device->pull_parameters(replica_.parameters, pull(), step.ahead);
    start(step);
  }

  void exchange_center_first(const Step& step) {
    const double share = settings_.beta / settings_.workers;
    replica_.device->write_difference(difference_, replica_.parameters, center_.slice(), static_cast<float>(share),
                                      step.ahead);
    seconds_waiting_ += sum_differences().wait();
    replica_.device->move_center_and_follow(center_.slice(), difference_, replica_.parameters, alpha_, step.ahead);
  }

  void start(const Step& step) {
    exchange_ = sum_differences();
    last_exchange_ = step.index;
    is_center_behind_ = true;
    if (!settings_.overlap) settle();
  }

  Pending sum_differences() { return transport_.all_reduce_sum(difference_, {}, feedback_.compression()); }

  // Waits for the last exchange and adds its sum to the center.
  void settle() {
    if (!is_center_behind_) return;
    seconds_waiting_ += exchange_.wait();
    replica_.device->move_center(center_.slice(), difference_);
    is_center_behind_ = false;
  }

  Transport& transport_;
  EasgdSettings settings_;
  ErrorFeedback feedback_;
  std::string look_ahead_;  // a line of the card
  float alpha_;
  ReplicaView replica_;
  Buffer center_;
  Buffer own_difference_;  // used if the transport lends no memory
  Slice difference_;       // alpha (x - c); during an exchange, the partial sum
  Pending exchange_;
  std::int64_t last_exchange_ = 0;  // the step that began it
  bool is_center_behind_ = false;
  double seconds_waiting_ = 0;
};

std::unique_ptr<Communicator> make_easgd(const CommunicatorContext& context) {
  const EasgdSettings settings = resolve_easgd(context.values, context.transport.size(), context.learning_rate);
  const std::string warning = settings.allow_unstable ? "" : describe_instability(settings);
  if (!warning.empty() && context.transport.rank() == 0) context.warnings.push_back(warning);
  // In order `paper` step 0 has no exchange, and each exchange belongs to the step after tau local ones.
  warn_without_exchange(context, settings.tau + (settings.order == ElasticOrder::kPaper ? 1 : 0),
                        "the center stays where it began, untrained");
  return std::make_unique<Easgd>(context.transport, settings, codec_in(context), describe_pulled_iterates(context));
}

}  // namespace

CommunicatorKind describe_communicator_easgd() {
  return {"easgd",
          "elastic averaging: workers train on their own, and exchanges pull them to a common center",
          {.exchanges = ExchangePattern::kHiddenSums,
           .has_center = true,
           .resets_to_center = true,
           .compresses = true,
           .exchanges_together = true},
          easgd_options(),
          make_easgd,
          {{"overlap", "off"}, {"order", "center-first"}}};
}

}  // namespace eave
