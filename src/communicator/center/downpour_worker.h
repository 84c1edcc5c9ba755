// The worker of the DOWNPOUR methods with local steps, which differ only in their consensus, and their bound of
// stability.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "communicator/center/async_center.h"
#include "communicator/support/moving_average.h"

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
  bool reads_parameters_after(const Step& step) const override { return exchanges_in(step); }
  // Drops the movement that this worker has not pushed yet.
  void reset_to_center(const ReplicaView& replica) override;
  // Between exchanges message() holds b_i, the center that this worker pulled last.
  std::vector<Slice> state() override;
  std::vector<Slice> own_state() override { return {message()}; }
  // New workers begin at c, as after an exchange, even if z is the consensus. Throws AgreedError(kConfiguration) if z
  // depends on the number of pushes so far, and that is not known.
  void join(const Joining& joining) override;
  std::string equation() const override;

 private:
  static CenterRule rule(const std::optional<MovingAverage>& average);
  void require_known_updates(const Joining& joining) const;
  void begin_worker() override;
  void before_gradients_of_worker(const Step&) override {}

  const std::optional<MovingAverage> average_;
  const bool is_batch_total_;
  const std::string look_ahead_;  // a line of the card
};

// The bound of stability for workers that push to a center in turns.
//
// Consider the quadratic h x²/2 without noise. p workers push to a center c in turns; each pulled c when it pushed
// last. Returns the q at which c begins to oscillate with growing amplitude. It does not for any q between 0 and this
// limit.
//
// With plain pushes c_{k+1} = c_k − q c_{k−p+1}, q = 1 − (1 − ηh)^τ. The limit is 2 sin(π/(4p − 2)), at which a pair of
// roots of λ^p − λ^{p−1} + q leaves the unit circle (Levin, May 1976).
//
// With Nesterov's momentum δ at the center and τ = 1, q = ηh. The same condition then holds for λ^{p−1}(λ − 1)(λ − δ) +
// q((1 + δ)λ − δ).
//
// Both limits are derived here; no paper states them.
double round_robin_limit(int workers, double center_momentum);

// The ηh up to which 1 − (1 − ηh)^τ stays below that limit, without momentum.
double largest_rate_times_curvature(int workers, std::int64_t tau);

}  // namespace eave
