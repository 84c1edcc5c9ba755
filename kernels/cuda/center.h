// Passes over a center, its averages and the messages about them; the twins of kernels/cpu/center.h. As in
// update.h, results have the same bits as on the CPU. Slices of one call have equal sizes, lie in device memory and do
// not overlap.
#pragma once

#include "eave/slice.h"
#include "eave/update_steps.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

// v ← momentum·v + scale·G;  center ← …;  mean ← …, as OuterKernelStep defines them. 24 bytes.
void step_outer(cudaStream_t stream, Slice center, Slice velocity, Slice mean, const OuterKernelStep& step);

// average ← (1 − share)·average + share·values, where the average is average + rest. A share of 1 copies. 20 bytes. If
// values are `ahead` of the iterate, the iterate is averaged. 24 bytes.
void move_average(cudaStream_t stream, Slice average, Slice rest, ConstSlice values, float share,
                  const Ahead& ahead = {});

// into = the iterate, which is x itself unless the parameters x are `ahead` of it. 8 bytes.
void write_iterate(cudaStream_t stream, Slice into, ConstSlice parameters, const Ahead& ahead);

// Message b becomes x − b, where x is the iterate that the parameters are `ahead` of. 12 bytes.
void write_displacement(cudaStream_t stream, Slice message, ConstSlice parameters, const Ahead& ahead);

// Writes the parameters that are `ahead` of `iterate`. 8 bytes.
void write_parameters(cudaStream_t stream, Slice parameters, ConstSlice iterate, const Ahead& ahead);

// into = −rate·(gradient + decay·x). 12 bytes.
void write_step(cudaStream_t stream, Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay);

// x ← x − difference. 12 bytes.
void subtract(cudaStream_t stream, Slice parameters, ConstSlice difference);

}  // namespace eave::cuda
