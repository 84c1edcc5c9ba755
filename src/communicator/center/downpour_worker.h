// The worker of the DOWNPOUR methods with local steps, which differ only in their consensus.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "communicator/center/async_center.h"
#include "communicator/elastic/moving_average.h"

namespace eave {

// --tau and the options of every asynchronous center.
std::vector<OptionSpec> downpour_options();

// A worker trains on its own for tau steps. Then it adds its movement to the center and goes on from there:
//   c <- c + (x_i - b_i);  x_i <- c;  b_i <- c
// x_i is the iterate, and b_i is the center that the worker pulled last. The optimizer's vectors stay with the worker.
// With `average`, the center also keeps z, which moves after each push and is the consensus. A run is deterministic in
// round-robin order and in a replay.
class DownpourWorker final : public AsyncCenter {
 public:
  DownpourWorker(const CommunicatorContext& context, const std::optional<MovingAverage>& average = {});

  void after_update(const Step& step) override;
  // Drops the movement that this worker has not pushed yet.
  void reset_to_center(const ReplicaView& replica) override;
  // Between exchanges message() holds b_i, the center that this worker pulled last.
  std::vector<Slice> state() override;
  std::vector<Slice> own_state() override { return {message()}; }
  // New workers begin at c, as after an exchange, even if z is the consensus.
  void join(const Joining& joining) override;
  std::string equation() const override;

 private:
  static CenterRule rule(const std::optional<MovingAverage>& average);
  void begin_worker() override;
  void before_gradients_of_worker(const Step&) override {}

  const std::optional<MovingAverage> average_;
  const std::string look_ahead_;  // a line of the card
};

}  // namespace eave
