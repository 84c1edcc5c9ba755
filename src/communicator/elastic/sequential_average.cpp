#include "communicator/elastic/sequential_average.h"

#include <algorithm>

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

std::unique_ptr<Communicator> make_sequential_average(const CommunicatorContext& context, const std::string& name,
                                                      const MovingAverage& average) {
  const int ranks = context.transport.size();
  if (ranks > 1) {
    throw Error(ExitCode::kUsage, "--communicator " + name + " is the baseline of one rank, and the job has " +
                                      std::to_string(ranks) + "; start one, or give --communicator " +
                                      (name == "asgd" ? "adownpour" : "mvadownpour") +
                                      ", which averages the center of several");
  }
  return std::make_unique<SequentialAverage>(context.transport, average);
}

}  // namespace eave
