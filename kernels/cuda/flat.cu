#include "kernels/cuda/flat.h"
#include "kernels/cuda/support/block_sum.h"
#include "kernels/cuda/support/flat_pass.h"

namespace eave::cuda {
namespace {

std::int64_t length(ConstSlice values) { return static_cast<std::int64_t>(values.size()); }

struct FillPass {
  static constexpr int kWidth = 4;
  float* values;
  float value;

  int before_packet() const { return elements_before_packet(kWidth, values); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    Lanes<kLanes> lanes;
    for (int k = 0; k < kLanes; ++k) lanes.at[k] = value;
    store(values + i, lanes);
  }
};

struct ScalePass {
  static constexpr int kWidth = 4;
  float* values;
  float factor;

  int before_packet() const { return elements_before_packet(kWidth, values); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto lanes = load<kLanes>(values + i);
    for (int k = 0; k < kLanes; ++k) lanes.at[k] *= factor;
    store(values + i, lanes);
  }
};

struct AddScaledPass {
  static constexpr int kWidth = 4;
  float* into;
  float factor;
  const float* from;

  int before_packet() const { return elements_before_packet(kWidth, into, from); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto lanes = load<kLanes>(into + i);
    const auto more = load<kLanes>(from + i);
    for (int k = 0; k < kLanes; ++k) lanes.at[k] += factor * more.at[k];
    store(into + i, lanes);
  }
};

template <class From, class Into>
struct CastPass {
  static constexpr int kWidth = 8;
  const From* from;
  Into* into;

  int before_packet() const { return elements_before_packet(kWidth, from, into); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    store(into + i, load<kLanes>(from + i));
  }
};

struct SquareTerm {
  const float* values;
  __device__ double operator()(std::int64_t i) const {
    const double value = values[i];
    return value * value;
  }
};

struct DistanceTerm {
  const float* a;
  const float* b;
  __device__ double operator()(std::int64_t i) const {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return difference * difference;
  }
};

struct NotFiniteTerm {
  const float* values;
  __device__ double operator()(std::int64_t i) const { return isfinite(values[i]) ? 0.0 : 1.0; }
};

// Neighbouring threads take neighbouring elements. Each thread has several sums, so that as many loads are in flight.
constexpr int kSums = 8;

template <class Term>
__global__ void __launch_bounds__(kBlock) sum_terms(const Term term, const std::int64_t size, double* partial) {
  double sums[kSums] = {};
  const std::int64_t stride = std::int64_t{gridDim.x} * kBlock;
  std::int64_t i = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  for (; i + (kSums - 1) * stride < size; i += kSums * stride) {
    for (int k = 0; k < kSums; ++k) sums[k] += term(i + k * stride);
  }
  for (; i < size; i += stride) sums[0] += term(i);
  for (int width = kSums / 2; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) sums[k] += sums[k + width];
  }
  const double sum = sum_of_block<kBlock>(sums[0]);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

template <bool kRoot>
__global__ void __launch_bounds__(kBlock) sum_partials(const double* partial, const int count, double* result) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kBlock) sum += partial[i];
  sum = sum_of_block<kBlock>(sum);
  if (threadIdx.x == 0) *result = kRoot ? sqrt(sum) : sum;
}

template <bool kRoot, class Term>
void enqueue_sum(const char* name, cudaStream_t stream, const Term& term, std::int64_t size, double* scratch,
                 double* result) {
  const std::int64_t blocks = std::clamp<std::int64_t>(blocks_for(size) / kSums, 1, kSumScratch);
  launch(name, sum_terms<Term>, grid_of(blocks), dim3(kBlock), stream, term, size, scratch);
  launch(name, sum_partials<kRoot>, dim3(1), dim3(kBlock), stream, scratch, static_cast<int>(blocks), result);
}

}  // namespace

void fill(cudaStream_t stream, Slice values, float value) {
  enqueue_flat("fill", stream, FillPass{values.data(), value}, length(values));
}

void scale(cudaStream_t stream, Slice values, float factor) {
  enqueue_flat("scale", stream, ScalePass{values.data(), factor}, length(values));
}

void add_scaled(cudaStream_t stream, Slice into, float factor, ConstSlice from) {
  enqueue_flat("add_scaled", stream, AddScaledPass{into.data(), factor, from.data()}, length(into));
}

void cast(cudaStream_t stream, ConstSlice from, Half* half) {
  enqueue_flat("cast", stream, CastPass<float, Half>{from.data(), half}, length(from));
}

void cast(cudaStream_t stream, const Half* half, Slice into) {
  enqueue_flat("cast", stream, CastPass<Half, float>{half, into.data()}, length(into));
}

void norm(cudaStream_t stream, ConstSlice values, double* scratch, double* result) {
  enqueue_sum<true>("norm", stream, SquareTerm{values.data()}, length(values), scratch, result);
}

void distance(cudaStream_t stream, ConstSlice a, ConstSlice b, double* scratch, double* result) {
  enqueue_sum<true>("distance", stream, DistanceTerm{a.data(), b.data()}, length(a), scratch, result);
}

void count_not_finite(cudaStream_t stream, ConstSlice values, double* scratch, double* result) {
  enqueue_sum<false>("count_not_finite", stream, NotFiniteTerm{values.data()}, length(values), scratch, result);
}

}  // namespace eave::cuda
