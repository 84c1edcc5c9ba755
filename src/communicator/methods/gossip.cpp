// Gossip: workers meet in pairs, and there is no center.
//
// At steps t = tau, 2 tau, … (counted from 0) the ranks form random pairs, drawn from (seed, t / tau), the same on
// every rank. For a pair (i, j), from the values before step t:
//   d = alpha (x_i - x_j);   x_i <- x_i - step_i - d;   x_j <- x_j - step_j + d
// If the number of ranks is odd, one rank has no partner and only steps. So does a single rank always. Two ranks form
// the same pair each time.
//
// --gossip chooses alpha:
// - average: alpha = 1/2, so both workers take their mean. This is the pairwise averaging of AD-PSGD (Lian et al.
//   2018), which also takes the gradient at the point before the averaging. GoSGD (Blot et al. 2016) sends one way, so
//   it needs weights by which it divides the values. A mutual exchange keeps the sum without weights.
// - elastic: any alpha (elastic gossip, Pramod 2018).
//
// All workers have the same weight, however many samples they have seen. The three papers do the same.
//
// Rounds, with M bytes of parameters: each exchange is one all-reduce of two ranks, M on the wire each way. It computes
// m = x_i/2 + x_j/2, and alpha (x_i - x_j) = 2 alpha (x_i - m). Pairs do not wait for other pairs. The sum starts
// before the gradients are computed. When they are complete the worker waits for it, and the update applies it in its
// one pass.
//
// --compression bf16 or fp16: the sum goes with error feedback (Compression in transport.h). Rank i keeps one residual
// e_i for all its partners. eave refuses int8 and top-k, because they suit only differences, and a pair has no common
// point to take differences from. (CHOCO-SGD, Koloskova et al. 2019, compresses differences between fixed neighbours.
// Each rank keeps a copy of every neighbour, which hears of every change. With random pairs each rank would need copies
// of all ranks, and would have to hear from all.)
//
// With Nesterov's momentum x_i is the iterate at the rate of step t, as in easgd; momentum stays local. An exchange
// does not change the sum of all x_i (with compression, of all x_i + 4 alpha e_i). consensus() is the mean of the
// parameters as the workers hold them, in a buffer of its own, by one all-reduce over all ranks. The same seed and
// ranks give the same bits.
#include "communicator/elastic/easgd_settings.h"
#include "communicator/elastic/gossip_settings.h"
#include "communicator/support/compression.h"
#include "communicator/support/local_steps.h"
#include "communicator/support/weighted_mean.h"
#include "eave/communicator.h"
#include "eave/device.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

class Gossip final : public Communicator {
 public:
  Gossip(Transport& transport, const GossipSettings& settings, std::shared_ptr<const Codec> codec,
         std::string look_ahead)
      : transport_(transport),
        settings_(settings),
        look_ahead_(std::move(look_ahead)),
        feedback_(std::move(codec)),
        equal_mean_(transport) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    seconds_waiting_ += share_replica(transport_, replica);
    consensus_ = replica.device->allocate(replica.parameters.size());
    feedback_.begin(replica.parameters.size());
    if (transport_.size() == 1) return;
    mean_ = replica.device->allocate(replica.parameters.size());
    difference_ = replica.device->allocate(replica.parameters.size());
  }

  void before_gradients(const Step& step) override {
    is_consensus_of_now_ = false;
    kept_.set(0, step.index + 1);
    pair_ = pair_at(step);
    if (pair_.empty()) return;
    copy_iterate(sent(), step);
    replica_.device->copy(mean_.slice(), sent());
    replica_.device->scale(mean_.slice(), 0.5f);
    exchange_ = transport_.all_reduce_sum(mean_.slice(), pair_, feedback_.compression());
  }

  // The pull is alpha (x_i - x_j) of the values sent. If the caller has changed x_i since then, the mean moves with it.
  std::optional<Pull> before_update(const Step& step) override {
    if (pair_.empty()) return {};
    seconds_waiting_ += exchange_.wait();
    copy_iterate(difference_.slice(), step);
    replica_.device->subtract(sent(), difference_.slice());
    replica_.device->subtract(mean_.slice(), sent());
    return Pull{mean_.slice(), static_cast<float>(2 * settings_.alpha), difference_.slice()};
  }

  bool reads_parameters_after(const Step& step) const override { return (step.index + 1) % settings_.tau == 0; }

  ConstSlice consensus() override {
    if (kept_.integer(0) == 0) return replica_.parameters;  // equal on all ranks
    if (!is_consensus_of_now_) {
      replica_.device->copy(consensus_.slice(), replica_.parameters);
      seconds_waiting_ += equal_mean_.average(*replica_.device, consensus_.slice());
      is_consensus_of_now_ = true;
    }
    return consensus_.slice();
  }

  void forget_consensus() override { is_consensus_of_now_ = false; }

  void reset_to_center(const ReplicaView& replica) override {
    Communicator::reset_to_center(replica);
    feedback_.forget();
  }

  std::vector<Slice> state() override {
    std::vector<Slice> state = {kept_.slice()};
    feedback_.append_state(state);
    return state;
  }

  // If a run goes on with another number of ranks, all workers begin from their mean. Former workers still send what
  // compression has dropped.
  std::vector<Slice> own_state() override { return feedback_.state(); }

  void finish() override { consensus(); }
  std::string equation() const override {
    return describe_gossip(settings_) + feedback_.describe("x_i / 2") + look_ahead_;
  }
  CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  Slice sent() { return consensus_.slice(); }  // the iterate as of before_gradients, in steps with an exchange

  void copy_iterate(Slice into, const Step& step) {
    replica_.device->copy(into, replica_.parameters);
    if (!step.ahead.velocity.empty()) replica_.device->add_scaled(into, step.ahead.factor, step.ahead.velocity);
  }

  // This rank and its partner before the update of this step, ascending. Empty if it has no partner.
  std::vector<int> pair_at(const Step& step) const {
    if (step.index == 0 || step.index % settings_.tau != 0) return {};
    const int rank = transport_.rank();
    for (const auto& [first, second] : gossip_pairs(settings_.seed, step.index / settings_.tau, transport_.size())) {
      if (first == rank || second == rank) return {first, second};
    }
    return {};
  }

  Transport& transport_;
  GossipSettings settings_;
  std::string look_ahead_;  // a line of the card
  ErrorFeedback feedback_;
  WeightedMean equal_mean_;  // no samples are counted, so all workers have equal weight
  ReplicaView replica_;
  CheckpointedNumbers kept_{1};  // steps since the beginning of the run
  Buffer mean_;                  // the pair's mean; during the exchange, the partial sum of halves
  Buffer difference_;            // the pull d that the update has subtracted
  Buffer consensus_;
  std::vector<int> pair_;
  Pending exchange_;
  bool is_consensus_of_now_ = false;
  double seconds_waiting_ = 0;
};

std::unique_ptr<Communicator> make_gossip(const CommunicatorContext& context) {
  const GossipSettings settings = resolve_gossip(context);
  if (settings.workers > 1) {
    const std::string warning = settings.allow_unstable ? "" : describe_gossip_instability(settings);
    if (!warning.empty() && context.transport.rank() == 0) context.warnings.push_back(warning);
    warn_without_exchange(context, settings.tau + 1, "the workers are averaged only for evaluations");
  }
  return std::make_unique<Gossip>(
      context.transport, settings,
      rounding_codec_in(context, "a pair of workers sends its parameters, which only rounding leaves usable"),
      describe_gossiped_iterates(context));
}

}  // namespace

CommunicatorKind describe_communicator_gossip() {
  return {"gossip",
          "workers exchange in random pairs, without a center",
          {.exchanges = ExchangePattern::kPairs, .has_center = true, .resets_to_center = true, .compresses = true},
          gossip_options(),
          make_gossip};
}

}  // namespace eave
