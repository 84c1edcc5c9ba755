// No averaging: every rank trains alone, from the same parameters. It is the control of a comparison.
//
//   x_i <- x_i - step_i
//
// Between beginning and end the method exchanges nothing, so no step waits for another rank. At the end it makes one
// collective of M bytes of parameters. This does not change the replicas, so a run that has ended can be resumed.
// - By default the collective is a broadcast of rank 0's worker.
// - With --average-at-end it is an all-reduce of x <- sum_i (n_i / n) x_i, 2 M (p-1)/p on the wire per rank. n_i counts
//   all samples that rank i has trained on, and n = sum_i n_i.
//
// Its result is the consensus at the end. Before the end the consensus is rank 0's worker, by a broadcast.
#include "base/options/number_text.h"
#include "communicator/support/weighted_mean.h"
#include "eave/communicator.h"
#include "eave/device.h"

namespace eave {
namespace {

class None final : public Communicator {
 public:
  None(Transport& transport, bool average_at_end)
      : transport_(transport), mean_(transport), average_at_end_(average_at_end) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    seconds_waiting_ += share_replica(transport_, replica);
    consensus_ = replica.device->allocate(replica.parameters.size());
  }

  void after_update(const Step& step) override {
    mean_.count(step);
    is_consensus_of_now_ = false;
  }

  bool reads_parameters_after(const Step&) const override { return false; }

  ConstSlice consensus() override {
    if (!is_consensus_of_now_) {
      replica_.device->copy(consensus_.slice(), replica_.parameters);
      seconds_waiting_ += transport_.broadcast(consensus_.slice(), 0).wait();
      is_consensus_of_now_ = true;
    }
    return consensus_.slice();
  }

  void forget_consensus() override { is_consensus_of_now_ = false; }
  bool consensus_is_first_worker() const override { return !is_average_; }
  std::vector<Slice> state() override { return {mean_.state()}; }
  std::vector<Slice> own_state() override { return state(); }

  // New workers begin at rank 0's parameters. If the checkpoint is of a run that had ended, they hold the mean.
  void join(const Joining& joining) override {
    mean_.count_anew();
    is_consensus_of_now_ = false;
    const ConstSlice first = consensus();
    if (!joining.goes_on) replica_.device->copy(replica_.parameters, first);
  }

  void finish() override {
    if (!average_at_end_) {
      consensus();
      return;
    }
    replica_.device->copy(consensus_.slice(), replica_.parameters);
    seconds_waiting_ += mean_.average(*replica_.device, consensus_.slice());
    is_consensus_of_now_ = is_average_ = true;
  }

  std::string equation() const override {
    const std::string first = "x_i <- x_i - step_i; p = " + count_text(transport_.size(), "worker") + ", each alone\n";
    return first + (average_at_end_
                        ? "at the end, once: x <- sum_i (n_i / n) x_i, n_i = samples of rank i in the whole "
                          "run, n = sum_i n_i; before the end, rank 0's worker is evaluated"
                        : "rank 0's worker is evaluated and saved; --average-at-end averages all, once");
  }

  CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  Transport& transport_;
  WeightedMean mean_;
  bool average_at_end_;
  ReplicaView replica_;
  Buffer consensus_;
  bool is_consensus_of_now_ = false, is_average_ = false;
  double seconds_waiting_ = 0;
};

std::unique_ptr<Communicator> make_none(const CommunicatorContext& context) {
  return std::make_unique<None>(context.transport, context.values.flag("average-at-end"));
}

}  // namespace

CommunicatorKind describe_communicator_none() {
  return {"none",
          "no averaging: every rank trains alone, as the control of a comparison",
          {.exchanges = ExchangePattern::kNone, .has_center = true},
          {{"average-at-end", OptionType::kFlag, "off",
            "save the mean of all workers as the model at the end; off: rank 0's worker"}},
          make_none};
}

}  // namespace eave
