// The weighted mean of the workers. The methods that average parameters build on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "communicator/support/compression.h"
#include "eave/communicator.h"

namespace eave {

// mean = sum_i (n_i / n) x_i, with n_i the samples of rank i since the counts were reset, and n = sum_i n_i. Every rank
// knows n from the steps, so a mean costs one all-reduce and nothing else. A worker without samples takes part with
// weight 0. If no worker has had a sample, all have weight 1/p.
class WeightedMean {
 public:
  explicit WeightedMean(Transport& transport) : transport_(transport) {}

  void count(const Step& step);
  void reset();
  // Collective. Call it when the run goes on with another number of ranks. Each rank keeps its n_i, and n becomes their
  // sum.
  void count_anew();
  std::int64_t samples_everywhere() const { return counts_.integer(1); }
  // Collective. Replaces every rank's `values` by their mean, with the same bits on all ranks. Returns the seconds it
  // blocked.
  double average(Device& device, Slice values) const;
  float weight() const;  // this rank's n_i / n; 1/p if n is 0
  // How far this worker's count of updates is behind that of the others, until the next reset (worker_momentum.h). It
  // stands here so that checkpoints keep it. 0 to 8,388,607; larger numbers become that.
  std::int64_t updates_behind() const { return counts_.integer(0) / kBehind; }
  void set_updates_behind(std::int64_t updates);
  // For checkpoints.
  Slice state() { return counts_.slice(); }

 private:
  static constexpr std::int64_t kBehind = std::int64_t{1} << 40;
  std::int64_t samples() const { return counts_.integer(0) % kBehind; }

  Transport& transport_;
  // n_i in the lower 40 bits, above them the updates that this worker is behind (0 in early checkpoints); then n.
  CheckpointedNumbers counts_{2};
};

// The workers' mean of a vector at each exchange, compressed if there is a codec.
//
// Without a codec, each worker's x_i becomes sum_j w_j x_j.
//
// With a codec, workers send their distance from b, the point on which all agreed last, with error feedback:
//   x_i becomes b + S,  S being the compressed sum (Compression in transport.h) of w_j (x_j - b)
// They do not send x_i itself, because int8 or top-k would leave too little of it. All ranks hold the same b, bit by
// bit. (Qsparse-local-SGD, Basu et al. 2019, keeps its residuals in the same way.)
class MeanExchange {
 public:
  MeanExchange(Transport& transport, std::shared_ptr<const Codec> codec)
      : transport_(transport), feedback_(std::move(codec)) {}

  // `values` must be the same on all ranks. With a codec, allocates memory of two such vectors.
  void begin(Device& device, ConstSlice values);
  // Collective. Replaces `values` by the mean (or by b + S). Returns the seconds it blocked.
  double average(const WeightedMean& mean, Slice values);
  // Sets b to `values`, from which the workers go on; they must be the same on all ranks. Call it after each average().
  void agree_on(ConstSlice values);
  // Collective. Sets b to the mean of all ranks' `values`, which stay as they are, with weight 1/p each. Returns the
  // seconds it blocked. Without a codec it does nothing.
  double agree_on_mean(ConstSlice values);
  // Sets the residual to 0: what was dropped will never be sent.
  void forget() { feedback_.forget(); }
  // For checkpoints.
  void append_state(std::vector<Slice>& state);
  // With a codec, appends b, which is equal on all ranks at any time.
  void append_agreed(std::vector<Slice>& vectors);
  // The part of the state that belongs to this rank: its residual.
  void append_own_state(std::vector<Slice>& state) { feedback_.append_state(state); }
  // As ErrorFeedback::describe.
  std::string describe() const;

 private:
  Transport& transport_;
  ErrorFeedback feedback_;
  Device* device_ = nullptr;
  Buffer agreed_;  // b
};

}  // namespace eave
