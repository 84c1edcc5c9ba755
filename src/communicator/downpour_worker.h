// What the DOWNPOUR methods with local steps share: all but what is evaluated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "communicator/async_center.h"
#include "communicator/moving_average.h"

namespace eave {

// --tau and those of every asynchronous center.
std::vector<OptionSpec> downpour_options();

// A worker trains on its own for tau steps, then adds what it has moved by to the center and goes on from there:
//   c <- c + (x_i - b_i);  x_i <- c;  b_i <- c.
// x_i is the iterate; the optimizer's vectors stay with the worker. With `average`, the center keeps z beside c, which
// moves after each push and is the consensus. Deterministic in round-robin order and in a replay.
class DownpourWorker final : public AsyncCenter {
 public:
  DownpourWorker(const CommunicatorContext& context, const std::optional<MovingAverage>& average = {});

  void after_update(const Step& step) override;
  // What a worker has not pushed yet is dropped.
  void reset_to_center(const ReplicaView& replica) override;
  // Between exchanges the message holds b_i, what this worker pulled last.
  std::vector<Slice> state() override;
  std::vector<Slice> own_state() override { return {message()}; }
  // New workers begin at c, as they would after an exchange, also where z is evaluated.
  void join(const Joining& joining) override;
  std::string equation() const override;

 private:
  static CenterRule rule(const std::optional<MovingAverage>& average);
  void begin_worker() override;
  void before_gradients_of_worker(const Step&) override {}

  const std::optional<MovingAverage> average_;
  const std::string look_ahead_;  // of the card
};

}  // namespace eave
