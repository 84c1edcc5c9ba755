#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/block_sum.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"

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

// blockDim.x threads share a row. All threads of the block must call these two functions.
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

__device__ inline double sum_of_row(double own) {
  __shared__ double all[kBlock];
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  all[at] = own;
  __syncthreads();
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) all[at] += all[at + width];
    __syncthreads();
  }
  return all[threadIdx.y * blockDim.x];
}

template <class T>
struct LossPass {
  Loss shape;
  const PassBlock* block;
  const std::int32_t* labels;
  const T* logits;
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
  const int label = counts ? pass.labels[row] : -1;
  for (auto c = static_cast<int>(threadIdx.x); c < classes; c += static_cast<int>(blockDim.x)) {
    const std::int64_t i = row * classes + c;
    float d = share * expf(to_float(pass.logits[i]) - largest.value);
    if (c == label) d -= factor;
    pass.d_logits[i] = from_float<T>(counts ? d : 0.0f);
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) losses_of_rows(const LossPass<T> pass) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool inside = row < pass.shape.rows,
             counts = inside && row < pass.block->samples * pass.shape.targets && pass.labels[row] >= 0;
  const auto classes = counts ? static_cast<int>(pass.shape.classes) : 0;
  const T* logits = pass.logits + (inside ? row : 0) * pass.shape.classes;
  // As on the CPU, no comparison chooses a NaN as the larger one. The sum becomes NaN anyway.
  Largest own = {to_float(logits[0]), 0};
  for (auto c = static_cast<int>(threadIdx.x); c < classes; c += static_cast<int>(blockDim.x)) {
    own = larger(own, {to_float(logits[c]), c});
  }
  const Largest largest = largest_of_row(own);
  double sum = 0;
  for (auto c = static_cast<int>(threadIdx.x); c < classes; c += static_cast<int>(blockDim.x)) {
    sum += static_cast<double>(expf(to_float(logits[c]) - largest.value));
  }
  sum = sum_of_row(sum);
  if (!inside) return;
  if (threadIdx.x == 0) {
    const int label = counts ? pass.labels[row] : 0;
    const double loss = log(sum) + static_cast<double>(largest.value) - static_cast<double>(to_float(logits[label]));
    pass.losses[row] = counts ? loss : 0.0;
    pass.correct[row] = counts && largest.place == label ? 1.0 : 0.0;
  }
  if (pass.d_logits != nullptr) write_gradient(pass, row, counts, largest, sum);
}

__global__ void __launch_bounds__(kBlock)
    sum_losses(const double* losses, const double* correct, const std::int64_t rows, LossTotals* totals) {
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

}  // namespace

std::int64_t loss_scratch(const Loss& shape) { return 2 * shape.rows; }

template <class T>
void softmax_cross_entropy(cudaStream_t stream, const Loss& shape, const PassBlock* block, const std::int32_t* labels,
                           const T* logits, T* d_logits, LossTotals* totals, double* scratch) {
  const LossPass<T> pass = {shape, block, labels, logits, d_logits, scratch, scratch + shape.rows};
  unsigned threads = 4;  // threads of a row
  while (threads < kBlock && threads * 4 < shape.classes) threads *= 2;
  const unsigned rows = kBlock / threads;
  if (shape.rows > 0) {
    EAVE_LAUNCH(losses_of_rows<T>, grid_of((shape.rows + rows - 1) / rows), dim3(threads, rows), stream, pass);
  }
  EAVE_LAUNCH(sum_losses, dim3(1), dim3(kBlock), stream, pass.losses, pass.correct, shape.rows, totals);
}

template void softmax_cross_entropy(cudaStream_t, const Loss&, const PassBlock*, const std::int32_t*, const float*,
                                    float*, LossTotals*, double*);
template void softmax_cross_entropy(cudaStream_t, const Loss&, const PassBlock*, const std::int32_t*, const Half*,
                                    Half*, LossTotals*, double*);

}  // namespace eave::cuda
