#include "eave/update_steps.h"
#include "kernels/cuda/center.h"
#include "kernels/cuda/elastic.h"
#include "kernels/cuda/support/flat_pass.h"

namespace eave::cuda {
namespace {

struct OuterPass {
  static constexpr int kWidth = 4;
  float* center;
  float* velocity;
  float* mean;
  OuterKernelStep step;

  int before_packet() const { return elements_before_packet(kWidth, center, velocity, mean); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto c = load<kLanes>(center + i), v = load<kLanes>(velocity + i), x = load<kLanes>(mean + i);
    for (int k = 0; k < kLanes; ++k) {
      const float old = v.at[k];
      const float way = (c.at[k] - step.ahead * old) - x.at[k];
      const float velocity_now = step.momentum * old + step.scale * way;
      const float center_now = x.at[k] - ((step.carry_left * old + step.step * way) - way);
      const bool moves =
          isfinite(center_now - step.ahead * velocity_now) && isfinite(center_now) && isfinite(velocity_now);
      v.at[k] = moves ? velocity_now : old;
      c.at[k] = moves ? center_now : c.at[k];
      x.at[k] = c.at[k] - step.ahead * v.at[k];
    }
    store(center + i, c);
    store(velocity + i, v);
    store(mean + i, x);
  }
};

// Moves z + rest towards the values; `rest` takes what rounding drops from z.
struct AveragePass {
  static constexpr int kWidth = 4;
  float* average;
  float* rest;
  const float* values;
  float share;
  AheadOf ahead;

  int before_packet() const { return elements_before_packet(kWidth, average, rest, values, ahead.velocity); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    const auto value = iterate_of(load<kLanes>(values + i), ahead, i);
    auto z = load<kLanes>(average + i), r = load<kLanes>(rest + i);
    for (int k = 0; k < kLanes; ++k) {
      const float step = r.at[k] + share * ((value.at[k] - z.at[k]) - r.at[k]);
      const float sum = z.at[k] + step;
      r.at[k] = isfinite(sum) ? step - (sum - z.at[k]) : r.at[k];
      z.at[k] = finite_or(sum, z.at[k]);
    }
    store(average + i, z);
    store(rest + i, r);
  }
};

// The average becomes the iterate, and its rest becomes 0.
struct IteratePass {
  static constexpr int kWidth = 4;
  float* into;
  float* rest;  // nullptr: there is no rest
  const float* parameters;
  AheadOf ahead;

  int before_packet() const { return elements_before_packet(kWidth, into, rest, parameters, ahead.velocity); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    const auto x = load<kLanes>(parameters + i);
    auto iterate = iterate_of(x, ahead, i);
    for (int k = 0; k < kLanes; ++k) iterate.at[k] = finite_or(iterate.at[k], x.at[k]);
    store(into + i, iterate);
    if (rest != nullptr) store(rest + i, Lanes<kLanes>{});
  }
};

struct DisplacementPass {
  static constexpr int kWidth = 4;
  float* message;
  const float* parameters;
  AheadOf ahead;

  int before_packet() const { return elements_before_packet(kWidth, message, parameters, ahead.velocity); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    const auto x = iterate_of(load<kLanes>(parameters + i), ahead, i);
    auto m = load<kLanes>(message + i);
    for (int k = 0; k < kLanes; ++k) m.at[k] = x.at[k] - m.at[k];
    store(message + i, m);
  }
};

struct StepPass {
  static constexpr int kWidth = 4;
  float* into;
  const float* parameters;
  const float* gradients;
  float rate;
  float decay;

  int before_packet() const { return elements_before_packet(kWidth, into, parameters, gradients); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    const auto x = load<kLanes>(parameters + i), g = load<kLanes>(gradients + i);
    Lanes<kLanes> step;
    for (int k = 0; k < kLanes; ++k) step.at[k] = finite_or(-rate * (g.at[k] + decay * x.at[k]), 0);
    store(into + i, step);
  }
};

struct SubtractPass {
  static constexpr int kWidth = 4;
  float* parameters;
  const float* difference;

  int before_packet() const { return elements_before_packet(kWidth, parameters, difference); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto x = load<kLanes>(parameters + i);
    const auto d = load<kLanes>(difference + i);
    for (int k = 0; k < kLanes; ++k) x.at[k] = finite_or(x.at[k] - d.at[k], x.at[k]);
    store(parameters + i, x);
  }
};

}  // namespace

void step_outer(cudaStream_t stream, Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) {
  const OuterPass pass = {center.data(), velocity.data(), mean.data(), step};
  enqueue_flat("step_outer", stream, pass, length(center));
}

void move_average(cudaStream_t stream, Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead) {
  if (share == 1) {
    const IteratePass pass = {average.data(), rest.data(), values.data(), ahead_of(ahead)};
    return enqueue_flat("move_average", stream, pass, length(average));
  }
  const AveragePass pass = {average.data(), rest.data(), values.data(), share, ahead_of(ahead)};
  enqueue_flat("move_average", stream, pass, length(average));
}

void write_iterate(cudaStream_t stream, Slice into, ConstSlice parameters, const Ahead& ahead) {
  const IteratePass pass = {into.data(), nullptr, parameters.data(), ahead_of(ahead)};
  enqueue_flat("write_iterate", stream, pass, length(into));
}

void write_displacement(cudaStream_t stream, Slice message, ConstSlice parameters, const Ahead& ahead) {
  const DisplacementPass pass = {message.data(), parameters.data(), ahead_of(ahead)};
  enqueue_flat("write_displacement", stream, pass, length(message));
}

void write_parameters(cudaStream_t stream, Slice parameters, ConstSlice iterate, const Ahead& ahead) {
  write_iterate(stream, parameters, iterate, {ahead.velocity, -ahead.factor});
}

void write_step(cudaStream_t stream, Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay) {
  const StepPass pass = {into.data(), parameters.data(), gradients.data(), rate, decay};
  enqueue_flat("write_step", stream, pass, length(into));
}

void subtract(cudaStream_t stream, Slice parameters, ConstSlice difference) {
  enqueue_flat("subtract", stream, SubtractPass{parameters.data(), difference.data()}, length(parameters));
}

}  // namespace eave::cuda
