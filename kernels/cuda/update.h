// The optimizers' steps over all parameters, elastic pull included, each in a single pass; the twins of
// kernels/cpu/update.h. They are bound by memory: each value is read and written once, 16 bytes at a time.
//
// Each element is computed by the same IEEE operations as on the CPU, so equal inputs give equal bits. Fused
// multiply-add is off for this whole directory.
//
// Slices of one call lie in device memory, have equal sizes and do not overlap. They may be empty, or longer than 2^31.
// Slices that are aligned alike (to 16 bytes, or all off by the same) are fastest. The bytes moved per parameter stand
// beside each function.
//
// `half` gets the new parameters rounded to bfloat16, for 2 bytes more; nullptr: not wanted. `stayed` lies in device
// memory. It is set to 1 if an element kept its values because the new ones would not be finite; nullptr: not wanted.
#pragma once

#include "eave/slice.h"
#include "eave/update_steps.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

// `velocity` is empty if momentum is 0. 12 bytes, or 20 with velocity. `pull` may be null; it adds 8 bytes, and 8 more
// if the center is behind.
void update_sgd(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                const Pull* pull, Half* half = nullptr, double* stayed = nullptr);

// 28 bytes. `pull` may be null; it adds 8 bytes, and 8 more if the center is behind.
void update_adamw(cudaStream_t stream, Slice parameters, ConstSlice gradients, Slice first, Slice second,
                  const AdamwStep& step, const Pull* pull, Half* half = nullptr, double* stayed = nullptr);

// In the functions below, if parameters are `ahead` of the iterate, x stands for the iterate, and the parameters move
// by as much as it does.

// The pull without an optimizer's step. 16 bytes, or 24 if the center is behind.
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
