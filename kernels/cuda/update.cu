#include "eave/update_steps.h"
#include "kernels/cuda/elastic.h"
#include "kernels/cuda/support/flat_pass.h"
#include "kernels/cuda/update.h"

namespace eave::cuda {
namespace {

enum class Momentum { kNone, kHeavyBall, kNesterov };

template <Momentum kMomentum, Elastic kElastic>
struct SgdPass {
  static constexpr int kWidth = 4;
  float* parameters;
  const float* gradients;
  float* velocity;
  SgdStep step;
  ElasticPull pull;
  Half* half;
  double* stayed;

  int before_packet() const {
    return elements_before_packet(kWidth, parameters, gradients, velocity, pull.center, pull.difference, half);
  }

  // Returns what the optimizer subtracts, and moves the velocity `v`.
  __device__ float step_of(float x, float g, float& v) const {
    const float s = step.gradient_scale * (g + step.weight_decay * x);
    if constexpr (kMomentum == Momentum::kNone) return step.step_scale * s;
    v = step.momentum * v + s;
    return step.step_scale * (kMomentum == Momentum::kNesterov ? s + step.momentum * v : v);
  }

  __device__ float iterate_of(float x, float v) const {
    if constexpr (kMomentum == Momentum::kNesterov) return x + step.step_scale * step.momentum * v;
    return x;
  }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto x = load<kLanes>(parameters + i);
    const auto g = load<kLanes>(gradients + i);
    Lanes<kLanes> v = {};
    if constexpr (kMomentum != Momentum::kNone) v = load<kLanes>(velocity + i);
    auto elastic = load_elastic<kElastic, kLanes>(pull, i);
    for (int k = 0; k < kLanes; ++k) {
      const float old = x.at[k], old_velocity = v.at[k], iterate = iterate_of(old, old_velocity);
      const float stepped = old - step_of(old, g.at[k], v.at[k]);
      const float moved = apply_elastic<kElastic>(elastic, k, stepped, iterate, pull.alpha);
      x.at[k] = finite_or(moved, old);
      if (isfinite(moved)) continue;
      v.at[k] = old_velocity;
      if (stayed != nullptr) *stayed = 1;
    }
    if constexpr (kMomentum != Momentum::kNone) store(velocity + i, v);
    store_elastic<kElastic>(pull, i, elastic);
    store_parameters(parameters, half, i, x);
  }
};

template <Elastic kElastic>
struct AdamwPass {
  static constexpr int kWidth = 4;
  float* parameters;
  const float* gradients;
  float* first;
  float* second;
  AdamwStep step;
  ElasticPull pull;
  Half* half;
  double* stayed;

  int before_packet() const {
    return elements_before_packet(kWidth, parameters, gradients, first, second, pull.center, pull.difference, half);
  }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto x = load<kLanes>(parameters + i);
    const auto g = load<kLanes>(gradients + i);
    auto m = load<kLanes>(first + i), v = load<kLanes>(second + i);
    auto elastic = load_elastic<kElastic, kLanes>(pull, i);
    for (int k = 0; k < kLanes; ++k) {
      const float old = x.at[k], old_first = m.at[k], old_second = v.at[k];
      m.at[k] = step.beta1 * old_first + step.fresh1 * g.at[k];
      v.at[k] = step.beta2 * old_second + step.fresh2 * (g.at[k] * g.at[k]);
      const float root = sqrtf(v.at[k]) * step.root_scale + step.epsilon;
      const float s = step.decay * old + step.rate * m.at[k] / root;
      // A gradient's square may overflow although the gradient does not. Then the element keeps its values.
      const float stepped = isfinite(v.at[k]) ? old - s : v.at[k];
      const float moved = apply_elastic<kElastic>(elastic, k, stepped, old, pull.alpha);
      x.at[k] = finite_or(moved, old);
      if (isfinite(moved)) continue;
      m.at[k] = old_first;
      v.at[k] = old_second;
      if (stayed != nullptr) *stayed = 1;
    }
    store(first + i, m);
    store(second + i, v);
    store_elastic<kElastic>(pull, i, elastic);
    store_parameters(parameters, half, i, x);
  }
};

template <Elastic kElastic>
struct PullPass {
  static constexpr int kWidth = 4;
  float* parameters;
  ElasticPull pull;
  AheadOf ahead;
  Half* half;

  int before_packet() const {
    return elements_before_packet(kWidth, parameters, pull.center, pull.difference, ahead.velocity, half);
  }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto x = load<kLanes>(parameters + i);
    const auto iterate = iterate_of(x, ahead, i);
    auto elastic = load_elastic<kElastic, kLanes>(pull, i);
    for (int k = 0; k < kLanes; ++k) {
      x.at[k] = finite_or(apply_elastic<kElastic>(elastic, k, x.at[k], iterate.at[k], pull.alpha), x.at[k]);
    }
    store_elastic<kElastic>(pull, i, elastic);
    store_parameters(parameters, half, i, x);
  }
};

struct DifferencePass {
  static constexpr int kWidth = 4;
  float* difference;
  const float* parameters;
  const float* center;
  float factor;
  AheadOf ahead;

  int before_packet() const { return elements_before_packet(kWidth, difference, parameters, center, ahead.velocity); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto d = iterate_of(load<kLanes>(parameters + i), ahead, i);
    const auto c = load<kLanes>(center + i);
    for (int k = 0; k < kLanes; ++k) d.at[k] = factor * (d.at[k] - c.at[k]);
    store(difference + i, d);
  }
};

struct FollowPass {
  static constexpr int kWidth = 4;
  float* center;
  const float* sum;
  float* parameters;
  float keep;
  AheadOf ahead;
  Half* half;

  int before_packet() const { return elements_before_packet(kWidth, center, sum, parameters, ahead.velocity, half); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto x = load<kLanes>(parameters + i);
    const auto iterate = iterate_of(x, ahead, i);
    auto c = load<kLanes>(center + i), followed = x;
    const auto s = load<kLanes>(sum + i);
    for (int k = 0; k < kLanes; ++k) {
      c.at[k] = finite_or(c.at[k] + s.at[k], c.at[k]);
      followed.at[k] = c.at[k] + keep * (iterate.at[k] - c.at[k]);
    }
    store(center + i, c);
    if (ahead.velocity != nullptr) {
      const auto v = load<kLanes>(ahead.velocity + i);
      for (int k = 0; k < kLanes; ++k) followed.at[k] -= ahead.factor * v.at[k];
    }
    for (int k = 0; k < kLanes; ++k) x.at[k] = finite_or(followed.at[k], x.at[k]);
    store_parameters(parameters, half, i, x);
  }
};

struct CenterPass {
  static constexpr int kWidth = 4;
  float* center;
  const float* sum;

  int before_packet() const { return elements_before_packet(kWidth, center, sum); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto c = load<kLanes>(center + i);
    const auto s = load<kLanes>(sum + i);
    for (int k = 0; k < kLanes; ++k) c.at[k] = finite_or(c.at[k] + s.at[k], c.at[k]);
    store(center + i, c);
  }
};

template <Momentum kMomentum, Elastic kElastic>
void enqueue_sgd(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                 const ElasticPull& pull, Half* half, double* stayed) {
  const SgdPass<kMomentum, kElastic> pass = {
      parameters.data(), gradients.data(), address(velocity), step, pull, half, stayed};
  enqueue_flat("update_sgd", stream, pass, length(parameters));
}

template <Elastic kElastic>
void choose_sgd(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                const ElasticPull& pull, Half* half, double* stayed) {
  if (velocity.empty()) {
    enqueue_sgd<Momentum::kNone, kElastic>(stream, parameters, gradients, velocity, step, pull, half, stayed);
  } else if (step.nesterov) {
    enqueue_sgd<Momentum::kNesterov, kElastic>(stream, parameters, gradients, velocity, step, pull, half, stayed);
  } else {
    enqueue_sgd<Momentum::kHeavyBall, kElastic>(stream, parameters, gradients, velocity, step, pull, half, stayed);
  }
}

template <Elastic kElastic>
void enqueue_adamw(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice first, Slice second,
                   const AdamwStep& step, const ElasticPull& pull, Half* half, double* stayed) {
  const AdamwPass<kElastic> pass = {
      parameters.data(), gradients.data(), first.data(), second.data(), step, pull, half, stayed};
  enqueue_flat("update_adamw", stream, pass, length(parameters));
}

}  // namespace

void update_sgd(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                const Pull* pull, Half* half, double* stayed) {
  switch (elastic_of(pull)) {
    case Elastic::kNone:
      return choose_sgd<Elastic::kNone>(stream, parameters, gradients, velocity, step, {}, half, stayed);
    case Elastic::kPull:
      return choose_sgd<Elastic::kPull>(stream, parameters, gradients, velocity, step, elastic_pull(*pull), half,
                                        stayed);
    case Elastic::kArriveAndPull:
      return choose_sgd<Elastic::kArriveAndPull>(stream, parameters, gradients, velocity, step, elastic_pull(*pull),
                                                 half, stayed);
  }
}

void update_adamw(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice first, Slice second,
                  const AdamwStep& step, const Pull* pull, Half* half, double* stayed) {
  switch (elastic_of(pull)) {
    case Elastic::kNone:
      return enqueue_adamw<Elastic::kNone>(stream, parameters, gradients, first, second, step, {}, half, stayed);
    case Elastic::kPull:
      return enqueue_adamw<Elastic::kPull>(stream, parameters, gradients, first, second, step, elastic_pull(*pull),
                                           half, stayed);
    case Elastic::kArriveAndPull:
      return enqueue_adamw<Elastic::kArriveAndPull>(stream, parameters, gradients, first, second, step,
                                                    elastic_pull(*pull), half, stayed);
  }
}

void pull_parameters(cudaStream_t stream, Slice parameters, const Pull& pull, const Ahead& ahead, Half* half) {
  if (pull.center_is_behind) {
    const PullPass<Elastic::kArriveAndPull> pass = {parameters.data(), elastic_pull(pull), ahead_of(ahead), half};
    enqueue_flat("pull_parameters", stream, pass, length(parameters));
  } else {
    const PullPass<Elastic::kPull> pass = {parameters.data(), elastic_pull(pull), ahead_of(ahead), half};
    enqueue_flat("pull_parameters", stream, pass, length(parameters));
  }
}

void write_difference(cudaStream_t stream, Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                      const Ahead& ahead) {
  const DifferencePass pass = {difference.data(), parameters.data(), center.data(), factor, ahead_of(ahead)};
  enqueue_flat("write_difference", stream, pass, length(difference));
}

void move_center(cudaStream_t stream, Slice center, ConstSlice sum) {
  enqueue_flat("move_center", stream, CenterPass{center.data(), sum.data()}, length(center));
}

void move_center_and_follow(cudaStream_t stream, Slice center, ConstSlice sum, Slice parameters, float alpha,
                            const Ahead& ahead, Half* half) {
  const FollowPass pass = {center.data(), sum.data(), parameters.data(), 1 - alpha, ahead_of(ahead), half};
  enqueue_flat("move_center_and_follow", stream, pass, length(center));
}

}  // namespace eave::cuda
