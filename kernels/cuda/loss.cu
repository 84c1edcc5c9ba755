#include <algorithm>
#include <cmath>

#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/block_sum.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/rows.h"

namespace eave::cuda {
namespace {

struct Largest {
  float value;
  int place;
};

__device__ inline Largest larger(const Largest& a, const Largest& b) {
  if (b.value > a.value || (b.value == a.value && b.place < a.place)) return b;
  return a;
}

// blockDim.x threads share a row. All threads of the block must call it.
__device__ inline Largest largest_of_row(const Largest& own) {
  __shared__ Largest all[kBlock];
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  all[at] = own;
  __syncthreads();
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) all[at] = larger(all[at], all[at + width]);
    __syncthreads();
  }
  return all[threadIdx.y * blockDim.x];
}

template <class T>
struct LossPass {
  Loss shape;
  std::int64_t begin, end;  // the rows of this call
  const PassBlock* block;
  const std::int32_t* labels;
  const T* logits;  // of the row `begin`, and on
  T* d_logits;
  double* losses;   // per row
  double* correct;  // per row, 0 or 1: whether the label's logit is the largest
};

template <class T>
__device__ inline void write_gradient(const LossPass<T>& pass, std::int64_t row, bool counts, const Largest& largest,
                                      double sum) {
  const auto classes = static_cast<int>(pass.shape.classes);
  const float factor = counts ? pass.block->loss_factor : 0.0f;
  const float share = factor / static_cast<float>(sum);
  const float spread = factor * pass.shape.smoothing / static_cast<float>(classes);
  const int label = counts ? pass.labels[row] : -1;
  for (auto c = static_cast<int>(threadIdx.x); c < classes; c += static_cast<int>(blockDim.x)) {
    const std::int64_t i = (row - pass.begin) * classes + c;
    float d = share * expf(to_float(pass.logits[i]) - largest.value) - spread;
    if (c == label) d -= factor * (1 - pass.shape.smoothing);
    pass.d_logits[i] = from_float<T>(counts ? d : 0.0f);
  }
}

// All threads of the block must call it.
template <class T>
__device__ inline double mean_of_row(const T* logits, int classes) {
  double sum = 0;
  for (auto c = static_cast<int>(threadIdx.x); c < classes; c += static_cast<int>(blockDim.x)) {
    sum += static_cast<double>(to_float(logits[c]));
  }
  return sum_of_row(sum) / classes;
}

template <class T>
__global__ void __launch_bounds__(kBlock) losses_of_rows(const LossPass<T> pass) {
  const std::int64_t row = pass.begin + std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool inside = row < pass.end,
             counts = inside && row < pass.block->samples * pass.shape.targets && pass.labels[row] >= 0;
  const auto classes = counts ? static_cast<int>(pass.shape.classes) : 0;
  const T* logits = pass.logits + (inside ? row - pass.begin : 0) * pass.shape.classes;
  // As on the CPU, no comparison chooses a NaN as the larger one. The sum becomes NaN anyway.
  Largest own = {to_float(logits[0]), 0};
  for (auto c = static_cast<int>(threadIdx.x); c < classes; c += static_cast<int>(blockDim.x)) {
    own = larger(own, {to_float(logits[c]), c});
  }
  const int label = counts ? pass.labels[row] : 0;
  const auto of_label = static_cast<double>(to_float(logits[label]));  // before gradients take its place
  const Largest largest = largest_of_row(own);
  double sum = 0;
  for (auto c = static_cast<int>(threadIdx.x); c < classes; c += static_cast<int>(blockDim.x)) {
    sum += static_cast<double>(expf(to_float(logits[c]) - largest.value));
  }
  sum = sum_of_row(sum);
  const double mean = pass.shape.smoothing > 0 ? mean_of_row(logits, classes) : 0;
  if (!inside) return;
  if (threadIdx.x == 0) {
    const double target = of_label + static_cast<double>(pass.shape.smoothing) * (mean - of_label);
    pass.losses[row] = counts ? log(sum) + static_cast<double>(largest.value) - target : 0.0;
    pass.correct[row] = counts && largest.place == label ? 1.0 : 0.0;
  }
  if (pass.d_logits != nullptr) write_gradient(pass, row, counts, largest, sum);
}

__global__ void __launch_bounds__(kBlock)
    sum_of_losses(const double* losses, const double* correct, const std::int64_t rows, LossTotals* totals) {
  double loss = 0, right = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += kBlock) {
    loss += losses[row];
    right += correct[row];
  }
  loss = sum_of_block<kBlock>(loss);
  right = sum_of_block<kBlock>(right);
  if (threadIdx.x != 0) return;
  totals->loss = loss;
  totals->correct = static_cast<std::int64_t>(right);
}

// Few enough that blocks which only read the loss take no time, and enough to fill the memory's width.
constexpr std::int64_t kSpoilingBlocks = 128;

__global__ void __launch_bounds__(kBlock) spoil(const LossTotals* totals, float* values, const std::int64_t size) {
  if (isfinite(totals->loss)) return;
  const std::int64_t stride = std::int64_t{gridDim.x} * kBlock;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kBlock + threadIdx.x; i < size; i += stride) values[i] = NAN;
}

}  // namespace

std::int64_t loss_scratch(const Loss& shape) { return 2 * shape.rows; }

template <class T>
void softmax_cross_entropy(cudaStream_t stream, const Loss& shape, std::int64_t begin, std::int64_t end,
                           const PassBlock* block, const std::int32_t* labels, const T* logits, T* d_logits,
                           double* of_rows) {
  if (begin == end) return;
  const RowLaunch rows = row_launch(end - begin, shape.classes);
  EAVE_LAUNCH(losses_of_rows<T>, rows.grid, rows.block, stream,
              LossPass<T>{shape, begin, end, block, labels, logits, d_logits, of_rows, of_rows + shape.rows});
}

void sum_losses(cudaStream_t stream, const Loss& shape, const double* of_rows, LossTotals* totals) {
  EAVE_LAUNCH(sum_of_losses, dim3(1), dim3(kBlock), stream, of_rows, of_rows + shape.rows, shape.rows, totals);
}

void spoil_if_not_finite(cudaStream_t stream, const LossTotals* totals, float* values, std::int64_t size) {
  if (size == 0) return;
  EAVE_LAUNCH(spoil, grid_of(std::min(blocks_for(size), kSpoilingBlocks)), dim3(kBlock), stream, totals, values, size);
}

template void softmax_cross_entropy(cudaStream_t, const Loss&, std::int64_t, std::int64_t, const PassBlock*,
                                    const std::int32_t*, const float*, float*, double*);
template void softmax_cross_entropy(cudaStream_t, const Loss&, std::int64_t, std::int64_t, const PassBlock*,
                                    const std::int32_t*, const Half*, Half*, double*);

}  // namespace eave::cuda
