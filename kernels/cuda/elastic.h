// Parts shared by the passes over parameters: the elastic pull, the iterate, and stores of new parameters.
#pragma once

#include "eave/slice.h"
#include "eave/update_steps.h"
#include "kernels/cuda/support/lanes.h"

namespace eave::cuda {

enum class Elastic { kNone, kPull, kArriveAndPull };

struct ElasticPull {
  float* center = nullptr;
  float* difference = nullptr;
  float alpha = 0;
};

struct AheadOf {
  const float* velocity = nullptr;  // nullptr: parameters are the iterate
  float factor = 0;
};

inline std::int64_t length(ConstSlice values) { return static_cast<std::int64_t>(values.size()); }
inline float* address(Slice values) { return values.empty() ? nullptr : values.data(); }
inline AheadOf ahead_of(const Ahead& ahead) {
  return {ahead.velocity.empty() ? nullptr : ahead.velocity.data(), ahead.factor};
}
inline ElasticPull elastic_pull(const Pull& pull) { return {pull.center.data(), pull.difference.data(), pull.alpha}; }
inline Elastic elastic_of(const Pull* pull) {
  if (pull == nullptr) return Elastic::kNone;
  return pull->center_is_behind ? Elastic::kArriveAndPull : Elastic::kPull;
}

template <int kLanes>
struct ElasticLanes {
  Lanes<kLanes> center, difference;
};

template <Elastic kElastic, int kLanes>
__device__ inline ElasticLanes<kLanes> load_elastic(const ElasticPull& pull, std::int64_t i) {
  ElasticLanes<kLanes> lanes = {};
  if constexpr (kElastic != Elastic::kNone) lanes.center = load<kLanes>(pull.center + i);
  if constexpr (kElastic == Elastic::kArriveAndPull) lanes.difference = load<kLanes>(pull.difference + i);
  return lanes;
}

// The gate of all passes that write what outlives a step; see kernels/cpu/finite.h.
__device__ inline float finite_or(float value, float otherwise) { return isfinite(value) ? value : otherwise; }

// `x` is the parameter after the optimizer's step, and `iterate` the iterate before it. If the returned parameter is
// not finite, the element must stay as it was, and its difference is 0: it takes no part in the exchange.
template <Elastic kElastic, int kLanes>
__device__ inline float apply_elastic(ElasticLanes<kLanes>& lanes, int k, float x, float iterate, float alpha) {
  if constexpr (kElastic == Elastic::kNone) return x;
  float& c = lanes.center.at[k];
  if constexpr (kElastic == Elastic::kArriveAndPull) c = finite_or(c + lanes.difference.at[k], c);
  const float d = alpha * (iterate - c), moved = x - d;
  lanes.difference.at[k] = isfinite(moved) ? d : 0;
  return moved;
}

template <Elastic kElastic, int kLanes>
__device__ inline void store_elastic(const ElasticPull& pull, std::int64_t i, const ElasticLanes<kLanes>& lanes) {
  if constexpr (kElastic == Elastic::kArriveAndPull) store(pull.center + i, lanes.center);
  if constexpr (kElastic != Elastic::kNone) store(pull.difference + i, lanes.difference);
}

template <int kLanes>
__device__ inline Lanes<kLanes> iterate_of(Lanes<kLanes> x, const AheadOf& ahead, std::int64_t i) {
  if (ahead.velocity == nullptr) return x;
  const auto v = load<kLanes>(ahead.velocity + i);
  for (int k = 0; k < kLanes; ++k) x.at[k] = x.at[k] + ahead.factor * v.at[k];
  return x;
}

template <int kLanes>
__device__ inline void store_parameters(float* parameters, Half* half, std::int64_t i, const Lanes<kLanes>& x) {
  store(parameters + i, x);
  if (half != nullptr) store(half + i, x);
}

}  // namespace eave::cuda
