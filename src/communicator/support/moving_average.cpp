#include "communicator/support/moving_average.h"

#include <cmath>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/check.h"
#include "eave/device.h"

namespace eave {
namespace {

class SequentialAverage final : public Communicator {
 public:
  SequentialAverage(Transport& transport, const MovingAverage& average) : transport_(transport), average_(average) {}

  void begin(const ReplicaView& replica) override {
    replica_ = replica;
    share_replica(transport_, replica);
    z_ = replica.device->allocate(replica.parameters.size());
    rest_ = replica.device->allocate(replica.parameters.size());
    replica.device->copy(z_.slice(), replica.parameters);
  }

  void after_update(const Step& step) override {
    replica_.device->move_average(z_.slice(), rest_.slice(), replica_.parameters, average_.share(step.index + 1),
                                  step.ahead);
  }

  ConstSlice consensus() override { return z_.slice(); }
  std::vector<Slice> state() override { return {z_.slice(), rest_.slice()}; }
  void finish() override {}

  std::string equation() const override {
    return "x <- x - step;  evaluated is z <- (1 - a) z + a x after each step; " + average_.describe() +
           "\np = 1 worker, no exchange; x is the iterate, also with Nesterov's momentum";
  }

  CommunicatorCosts costs() const override { return {}; }

 private:
  Transport& transport_;
  const MovingAverage average_;
  ReplicaView replica_;
  Buffer z_, rest_;
};

}  // namespace

float MovingAverage::share(std::int64_t updates) const {
  return static_cast<float>(rate_ > 0 ? rate_ : 1.0 / static_cast<double>(updates + 1));
}

std::string MovingAverage::describe() const {
  return rate_ > 0 ? "a = " + number_text(rate_) + ", z begins at the first model"
                   : "a = 1/(t + 1) at update t = 1, 2 ...: the mean of all so far";
}

OptionSpec average_rate_option() {
  return {"average-rate", OptionType::kReal, "0.001",
          "each update moves the evaluated model by this share of the way to the newest model; 1: no averaging"};
}

MovingAverage average_rate_in(const OptionValues& values) {
  const double rate = values.real("average-rate");
  if (!(rate > 0 && rate <= 1)) {
    refuse_option(values, "average-rate", "expected a share above 0 and at most 1; 0.001 is usual");
  }
  return MovingAverage(rate);
}

void warn_of_beginning(const CommunicatorContext& context, std::int64_t updates) {
  constexpr double kMuch = 0.05;
  const double left = std::pow(1 - context.values.real("average-rate"), static_cast<double>(updates));
  if (updates <= 0 || left < kMuch || context.transport.rank() != 0) return;
  context.warnings.push_back("the average that is evaluated will be " + std::to_string(std::lround(100 * left)) +
                             " % the model before the first step, after " + count_text(updates, "update") +
                             " with --average-rate " + context.values.text("average-rate") +
                             ": give a larger one, or train longer");
}

std::unique_ptr<Communicator> make_sequential_average(const CommunicatorContext& context, const std::string& name,
                                                      const std::string& of_several, const MovingAverage& average) {
  const int ranks = context.transport.size();
  if (ranks > 1) {
    throw Error(ExitCode::kUsage, "--communicator " + name + " is the baseline of one rank, and the job has " +
                                      std::to_string(ranks) + "; start one, or give --communicator " + of_several +
                                      ", which averages the center of several");
  }
  return std::make_unique<SequentialAverage>(context.transport, average);
}

}  // namespace eave
