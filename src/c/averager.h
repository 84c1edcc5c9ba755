// A communicator with what it needs beside a model, for a loop that is not eave's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eave/communicator.h"

namespace eave {

// Every method is for the thread of the transport, and collective unless it says otherwise.
class Averager {
 public:
  // `options`: words "name=value" between spaces, the same on all ranks. Throws AgreedError (kUsage, kConfiguration).
  // Parameters and gradients lie in the host's memory and outlive this.
  Averager(Transport& transport, const std::string& options, Slice parameters, Slice gradients);

  void begin_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate);
  bool before_update(double loss_sum);  // whether the optimizer takes its step
  void after_update();
  ConstSlice consensus();
  void finish();

  // Not collective.
  const std::string& description() const { return description_; }
  std::size_t size() const { return replica_.parameters.size(); }
  TransportCounters counters() const { return counting_->counters(); }
  double seconds_waiting() const { return communicator_->costs().seconds_waiting; }

 private:
  enum class Stage { kBetweenSteps, kComputing, kUpdating };
  void enter(Stage from, Stage to, const char* call);

  const std::unique_ptr<CountingTransport> counting_;
  OptionValues values_;
  ReplicaView replica_;
  std::unique_ptr<Communicator> communicator_;
  int workers_ = 1;
  Step step_;
  Stage stage_ = Stage::kBetweenSteps;
  std::string description_;
};

}  // namespace eave
