// A plug-in for tests: elastic averaging with momentum of the center. --fault says in what it breaks the contract.
// "none" keeps it, and caches its consensus until the next exchange or forget_consensus().
#include <string>
#include <vector>

#include "eave/agreement.h"
#include "eave/communicator.h"
#include "eave/update_steps.h"

namespace {

using namespace eave;

constexpr int kEvery = 10;  // steps between exchanges
constexpr float kAlpha = 0.2f, kMomentum = 0.5f;

class FaultyCenter final : public Communicator {
 public:
  FaultyCenter(Transport& transport, std::string fault) : transport_(transport), fault_(std::move(fault)) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    waiting_ += share_replica(transport_, replica);
    center_.assign(replica.parameters.begin(), replica.parameters.end());
    velocity_.assign(center_.size(), 0);
    difference_.assign(center_.size(), 0);
    of_ranks_.assign(static_cast<std::size_t>(transport_.size()), 0);
  }
  int micro_batches() const override { return is("micro-batches") ? 3 : 0; }
  std::optional<Pull> before_update(const Step&) override {
    if (is("pull")) return Pull{.center = Slice(center_).first(3), .alpha = kAlpha, .difference = difference_};
    return std::nullopt;
  }
  void after_update(const Step& step) override {
    if ((step.index + 1) % kEvery != 0) return;
    for (std::size_t i = 0; i < difference_.size(); ++i) {
      difference_[i] = kAlpha * (replica_.parameters[i] - center_[i]);
      replica_.parameters[i] -= difference_[i];
    }
    waiting_ += transport_.all_reduce_sum(difference_).wait();
    for (std::size_t i = 0; i < difference_.size(); ++i) {
      velocity_[i] = kMomentum * velocity_[i] + difference_[i];
      center_[i] += velocity_[i];
    }
    if (is("center") && transport_.rank() == 1) center_[0] += 1;
    is_cached_ = false;
  }
  ConstSlice consensus() override {
    if (!is_cached_) cached_ = center_;
    is_cached_ = true;
    if (is("consensus") && transport_.rank() == 1) cached_[0] += 1;
    return cached_;
  }
  void forget_consensus() override { is_cached_ = false; }
  std::vector<Slice> state() override {
    if (is("no-state")) return {};
    if (is("common-size")) return {center_, velocity_, of_ranks_};
    return {center_, velocity_};
  }
  std::vector<Slice> common_state() override { return state(); }
  std::vector<Slice> replicated() override {
    if (is("replicated") && transport_.rank() == 1) return {};
    return {center_, velocity_};
  }
  void finish() override {}
  std::string equation() const override { return "p = " + std::to_string(transport_.size()); }
  CommunicatorCosts costs() const override { return {is("costs") ? -1 : waiting_}; }

 private:
  bool is(const char* fault) const { return fault_ == fault; }

  Transport& transport_;
  const std::string fault_;
  ReplicaView replica_;
  std::vector<float> center_, velocity_, difference_, cached_, of_ranks_;
  bool is_cached_ = false;
  double waiting_ = 0;
};

CommunicatorKind describe() {
  CommunicatorKind kind;
  kind.name = "faulty-center";
  kind.summary = "elastic averaging that breaks the contract as --fault says";
  kind.traits = {.exchanges = ExchangePattern::kBlockingSums, .has_center = true, .exchanges_together = true};
  kind.options = {{"fault", OptionType::kText, "none", "what it breaks"}};
  kind.make = [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
    return std::make_unique<FaultyCenter>(context.transport, context.values.text("fault"));
  };
  return kind;
}

}  // namespace

EAVE_COMMUNICATOR_PLUGIN(describe)
