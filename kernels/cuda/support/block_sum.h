// The sum of one number per thread of a block, always in the same order.
#pragma once

#include <cuda_runtime.h>

namespace eave::cuda {

// All kThreads threads of a one-dimensional block call it; kThreads is a power of two. Every thread gets the sum.
template <int kThreads, class Number>
__device__ inline Number sum_of_block(Number own) {
  __shared__ Number sums[kThreads];
  const unsigned thread = threadIdx.x;
  sums[thread] = own;
  __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    if (thread < width) sums[thread] += sums[thread + width];
    __syncthreads();
  }
  const Number sum = sums[0];
  __syncthreads();  // the next call must not write before all have read
  return sum;
}

}  // namespace eave::cuda
