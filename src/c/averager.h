// A communicator with what it needs beside a model, for a loop that is not eave's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eave/communicator.h"

namespace eave {

// Every method is for the thread of the transport, and collective unless it says otherwise.
class Averager {
 public:
  // `options`: words "name=value" between spaces, the same on all ranks. Throws AgreedError (kUsage, kConfiguration).
  // Parameters and gradients outlive this. They lie in the host's memory, or with "device=cuda" in that of GPU "gpu=N",
  // which may be another number on each rank; one such averager at a time. What has been asked of them is done when a
  // method returns.
  Averager(Transport& transport, const std::string& options, Slice parameters, Slice gradients);
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;
  ~Averager();

  void begin_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate);
  bool before_update(double loss_sum);  // whether the optimizer takes its step
  void after_update();
  void write_consensus(Slice into);  // where the parameters lie
  void finish();

  // Not collective.
  const std::string& description() const { return description_; }
  std::size_t size() const { return replica_.parameters.size(); }
  TransportCounters counters() const { return counting_->counters(); }
  double seconds_waiting() const { return communicator_->costs().seconds_waiting; }

 private:
  enum class Stage { kBetweenSteps, kComputing, kUpdating };
  void enter(Stage from, Stage to, const char* call);

  void open_gpu(Slice parameters, Slice gradients);
  void attach_gpu(Transport& transport);

  OptionValues values_;
  std::unique_ptr<Device> gpu_;      // nullptr: all is in the host's memory
  std::unique_ptr<Transport> nccl_;  // nullptr: what the session has
  std::unique_ptr<CountingTransport> counting_;
  std::optional<Attachment> attachment_;
  ReplicaView replica_;
  std::unique_ptr<Communicator> communicator_;
  int workers_ = 1;
  Step step_;
  Stage stage_ = Stage::kBetweenSteps;
  std::string description_;
};

}  // namespace eave
