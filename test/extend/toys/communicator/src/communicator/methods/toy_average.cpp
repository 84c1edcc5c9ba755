// A toy for test/extend: workers train on their own; after every tau-th step x_i <- sum_j (n_j / n) x_j.
#include "communicator/support/local_steps.h"
#include "communicator/support/weighted_mean.h"

namespace eave {
namespace {
class ToyAverage final : public Communicator {
 public:
  ToyAverage(Transport& transport, std::int64_t tau) : transport_(transport), tau_(tau), mean_(transport) {}
  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    waited_ += share_replica(transport_, replica);
    consensus_ = replica.device->allocate(replica.parameters.size());
  }
  void after_update(const Step& step) override {
    mean_.count(step);
    has_consensus_ = false;
    if ((step.index + 1) % tau_ != 0) return;
    waited_ += mean_.average(*replica_.device, replica_.parameters);
    mean_.reset();
  }
  ConstSlice consensus() override {
    if (mean_.samples_everywhere() == 0) return replica_.parameters;
    if (has_consensus_) return consensus_.slice();
    has_consensus_ = true;
    replica_.device->copy(consensus_.slice(), replica_.parameters);
    waited_ += mean_.average(*replica_.device, consensus_.slice());
    return consensus_.slice();
  }
  std::vector<Slice> state() override { return {mean_.state()}; }
  std::vector<Slice> replicated() override {  // workers differ between two exchanges
    return mean_.samples_everywhere() > 0 ? std::vector<Slice>() : std::vector{replica_.parameters};
  }
  void finish() override { consensus(); }
  std::string equation() const override { return "x_i <- mean every tau, p = " + std::to_string(transport_.size()); }
  CommunicatorCosts costs() const override { return {waited_}; }

 private:
  Transport& transport_;
  std::int64_t tau_;
  WeightedMean mean_;
  ReplicaView replica_;
  Buffer consensus_;
  bool has_consensus_ = false;
  double waited_ = 0;
};

std::unique_ptr<Communicator> make_toy_average(const CommunicatorContext& context) {
  return std::make_unique<ToyAverage>(context.transport, tau_in(context.values));
}

}  // namespace

CommunicatorKind describe_communicator_toy_average() {
  constexpr CommunicatorTraits kTraits = {.has_center = true, .exchanges_together = true};
  return {"toy-average", "a toy: the workers' mean every tau steps", kTraits, {tau_option("2")}, make_toy_average};
}

}  // namespace eave
