// Kernels in which blockDim.x neighbouring threads share a row, and blockDim.y rows share a block. Parts of many rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/support/launch.h"

namespace eave::cuda {

struct RowLaunch {
  dim3 grid, block;
};

// There is at least one row.
inline RowLaunch row_launch(std::int64_t rows, std::int64_t values_of_row) {
  unsigned threads = 4;
  while (threads < kBlock && threads * 4 < values_of_row) threads *= 2;
  const unsigned rows_of_block = kBlock / threads;
  return {grid_of((rows + rows_of_block - 1) / rows_of_block), dim3(threads, rows_of_block)};
}

// Calls body(first row, rows) for parts of the rows, of at most `most_values` values each, but of at least a row.
template <class Body>
void for_row_parts(std::int64_t rows, std::int64_t values_of_row, std::int64_t most_values, const Body& body) {
  if (rows * values_of_row == 0) return;
  const std::int64_t most_rows = std::max<std::int64_t>(most_values / values_of_row, 1);
  for (std::int64_t first = 0; first < rows; first += most_rows) body(first, std::min(most_rows, rows - first));
}

// The sum of one number for each thread of a row, always in the same order. All threads of the block must call it.
template <class Number>
__device__ inline Number sum_of_row(Number own) {
  __shared__ Number all[kBlock];
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  all[at] = own;
  __syncthreads();
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) all[at] += all[at + width];
    __syncthreads();
  }
  const Number sum = all[threadIdx.y * blockDim.x];
  __syncthreads();  // the next call must not write before all have read
  return sum;
}

}  // namespace eave::cuda
