// A plug-in that averages parameters every few steps, with an option of another name than tau.
#include <algorithm>
#include <vector>

#include "eave/agreement.h"
#include "eave/communicator.h"

namespace {

class Every final : public eave::Communicator {
 public:
  explicit Every(const eave::CommunicatorContext& context)
      : transport_(context.transport), every_(context.values.integer("every", 1)) {}

  void begin(const eave::ReplicaView& replica) override {
    replica_ = replica;
    mean_.resize(replica.parameters.size());
    seconds_waiting_ += eave::share_replica(transport_, replica);
  }

  void after_update(const eave::Step& step) override {
    if ((step.index + 1) % every_ == 0) average(replica_.parameters);
  }

  eave::ConstSlice consensus() override {
    std::copy(replica_.parameters.begin(), replica_.parameters.end(), mean_.begin());
    if (!has_ended_) average(mean_);
    return mean_;
  }

  void finish() override {
    average(replica_.parameters);
    has_ended_ = true;
  }

  std::string equation() const override { return "x_i <- mean x_i, p = " + std::to_string(transport_.size()); }
  eave::CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  void average(eave::Slice values) {
    for (float& x : values) x /= static_cast<float>(transport_.size());
    seconds_waiting_ += transport_.all_reduce_sum(values).wait();
  }

  eave::Transport& transport_;
  std::int64_t every_;
  eave::ReplicaView replica_;
  std::vector<float> mean_;
  bool has_ended_ = false;
  double seconds_waiting_ = 0;
};

eave::CommunicatorKind describe() {
  return {"every",
          "averages parameters every few steps",
          {.has_center = true},
          {{"every", eave::OptionType::kInteger, "4", "steps from one exchange to the next"}},
          [](const eave::CommunicatorContext& context) -> std::unique_ptr<eave::Communicator> {
            return std::make_unique<Every>(context);
          }};
}

}  // namespace

EAVE_COMMUNICATOR_PLUGIN(describe)
