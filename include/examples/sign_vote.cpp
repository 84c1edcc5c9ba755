// An example of a method as a plug-in: signSGD by majority vote (Bernstein, Wang, Azizzadenesheli, Anandkumar 2018,
// algorithm 3; Bernstein, Zhao, Azizzadenesheli, Anandkumar 2019).
//
//     g = s sign(sum_i sign(g_i)), element by element, with sign(0) = 0; s is --vote-scale
//
// All ranks take the same step with this g.
//
//     c++ -std=c++20 -O2 -shared -fPIC $(pkg-config --cflags eave) sign_vote.cpp -o sign_vote.so
//     mpirun -np 4 eave train --plugin ./sign_vote.so --communicator sign-vote --vote-scale 0.01
//
// Each step sums the gradients once and waits for the sum. The example shows the method, not its speed: each sign
// travels as a float.
#include <cmath>
#include <string>

#include "eave/agreement.h"
#include "eave/communicator.h"
#include "eave/update_steps.h"

namespace {

class SignVote final : public eave::Communicator {
 public:
  SignVote(eave::Transport& transport, const eave::OptionValues& values)
      : transport_(transport),
        scale_text_(values.text("vote-scale")),
        scale_(static_cast<float>(values.real("vote-scale"))) {
    if (!(scale_ > 0))
      throw eave::Error(eave::ExitCode::kUsage, "--vote-scale " + scale_text_ + ": expected a number above 0");
  }

  void begin(const eave::ReplicaView& replica) override {
    if (replica.device->kind() != eave::DeviceKind::kCpu)
      throw eave::AgreedError(eave::ExitCode::kUsage, "--communicator sign-vote is for --device cpu");
    replica_ = replica;
    seconds_waiting_ += eave::share_replica(transport_, replica);
  }

  std::optional<eave::Pull> before_update(const eave::Step& step) override {
    for (float& g : replica_.gradients) g = step.samples == 0 ? 0 : sign(g);
    seconds_waiting_ += transport_.all_reduce_sum(replica_.gradients).wait();
    for (float& g : replica_.gradients) g = scale_ * sign(g);
    return std::nullopt;
  }

  bool updates(const eave::Step&) const override { return true; }  // the vote moves ranks without samples too
  eave::ConstSlice consensus() override { return replica_.parameters; }
  std::vector<eave::Slice> replicated() override { return {replica_.parameters}; }
  void finish() override {}
  std::string equation() const override {
    return "g <- s sign(sum_i sign(g_i)), s = " + scale_text_ + ", p = " + std::to_string(transport_.size());
  }
  eave::CommunicatorCosts costs() const override { return {seconds_waiting_}; }

 private:
  // A gradient is NaN if the loss of its rank is not finite. The sum passes NaN on, so all ranks leave out the step.
  static float sign(float value) { return std::isnan(value) ? value : static_cast<float>((value > 0) - (value < 0)); }

  eave::Transport& transport_;
  std::string scale_text_;
  float scale_;
  eave::ReplicaView replica_;
  double seconds_waiting_ = 0;
};

eave::CommunicatorKind describe() {
  return {"sign-vote",
          "each rank votes with the signs of its gradient, and the majority moves all",
          {.averages_gradients = true, .exchanges_together = true},
          {{"vote-scale", eave::OptionType::kReal, "0.01", "size of the gradient that a vote stands for"}},
          [](const eave::CommunicatorContext& context) -> std::unique_ptr<eave::Communicator> {
            return std::make_unique<SignVote>(context.transport, context.values);
          }};
}

}  // namespace

EAVE_COMMUNICATOR_PLUGIN(describe)
