// The optimizers' steps over the flat arena, elastic pull included, each in a single pass; the twins of
// kernels/cpu/update.h. Bound by memory: each pointer is read and written once, 16 bytes at a time.
//
// Each element is computed by the same IEEE operations as on the CPU (fused multiply-add is off for all of this
// directory), so equal inputs give equal bits. Slices of one call are in device memory, equally large and do not
// overlap; they may be empty, and longer than 2^31. Slices that are aligned alike (to 16 bytes, or all off by the same)
// are fastest. Bytes moved per parameter stand beside each function.
//
// `half`, where it is not nullptr, gets the new parameters rounded to bfloat16: 2 bytes more. `stayed`, where it is not
// nullptr, is in device memory and set to 1 where an element kept its values because the new ones would not be finite.
#pragma once

#include "eave/slice.h"
#include "kernels/cuda/half.h"

namespace eave::cuda {

// `velocity` is empty when momentum is 0. 12 bytes, with velocity 20; the pull adds 8, the center's arrival 8 more.
// `pull` may be null.
void update_sgd(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                const Pull* pull, Half* half = nullptr, double* stayed = nullptr);

// 28 bytes; the pull adds 8, the center's arrival 8 more. `pull` may be null.
void update_adamw(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice first, Slice second,
                  const AdamwStep& step, const Pull* pull, Half* half = nullptr, double* stayed = nullptr);

// Where parameters are `ahead` of the iterate, x stands for the iterate in what follows, and the parameters move by as
// much as it does.

// The pull without a step. 16 bytes, with the center's arrival 24.
void pull_parameters(cudaStream_t stream, Slice parameters, const Pull& pull, const Ahead& ahead = {},
                     Half* half = nullptr);

// difference = factor·(x − center). 12 bytes.
void write_difference(cudaStream_t stream, Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                      const Ahead& ahead = {});

// center ← center + sum. 12 bytes.
void move_center(cudaStream_t stream, Slice center, ConstSlice sum);

// center ← center + sum;  x ← center + (1 − alpha)·(x − center). 20 bytes.
void move_center_and_follow(cudaStream_t stream, Slice center, ConstSlice sum, Slice parameters, float alpha,
                            const Ahead& ahead = {}, Half* half = nullptr);

}  // namespace eave::cuda
