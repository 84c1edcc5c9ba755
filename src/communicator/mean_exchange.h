// The workers' mean of a vector, exchange after exchange, as it may travel compressed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "communicator/compression.h"
#include "communicator/weighted_mean.h"

namespace eave {

// Without a codec: each worker's x_i becomes sum_j w_j x_j.
// With one, what travels is how far each worker is from the point b on which all agreed last, with error feedback:
//   x_i becomes b + S,  S being the compressed sum (Compression in transport.h) of w_j (x_j - b).
// For the vector itself would not survive int8 or top-k. All ranks hold the same b, bit by bit. (Qsparse-local-SGD:
// Basu et al. 2019, which keeps its residuals likewise.)
class MeanExchange {
 public:
  MeanExchange(Transport& transport, std::shared_ptr<const Codec> codec)
      : transport_(transport), feedback_(std::move(codec)) {}

  // `values` are the same on all ranks. Memory is allocated here: with a codec, that of two vectors.
  void begin(Device& device, ConstSlice values);
  // Collective. Returns the seconds it blocked.
  double average(const WeightedMean& mean, Slice values);
  // From where the workers go on, the same on all ranks. After each average().
  void agree_on(ConstSlice values);
  // What was dropped is not sent any more.
  void forget() { feedback_.forget(); }
  // For checkpoints.
  void append_state(std::vector<Slice>& state);
  // The part of it that belongs to this rank: what was dropped.
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
