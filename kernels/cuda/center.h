// Passes over the center, averages and what is sent of them; the twins of kernels/cpu/center.h and outer.h. As those of
// update.h: equal bits as on the CPU, slices of one call equally large, in device memory and apart.
#pragma once

#include "eave/slice.h"
#include "kernels/cuda/half.h"

namespace eave::cuda {

// v ← momentum·v + scale·G;  center ← …;  mean ← …, as OuterKernelStep says. 24 bytes.
void step_outer(cudaStream_t stream, Slice center, Slice velocity, Slice mean, const OuterKernelStep& step);

// average ← (1 − share)·average + share·values, the average being average + rest. A share of 1 copies. 20 bytes. Where
// values are `ahead` of the iterate, the iterate is averaged. 24 bytes.
void move_average(cudaStream_t stream, Slice average, Slice rest, ConstSlice values, float share,
                  const Ahead& ahead = {});

// into = x, or the iterate that parameters x are `ahead` of. 8 bytes.
void write_iterate(cudaStream_t stream, Slice into, ConstSlice parameters, const Ahead& ahead);

// message b becomes x − b, x being the iterate that parameters are `ahead` of. 12 bytes.
void write_displacement(cudaStream_t stream, Slice message, ConstSlice parameters, const Ahead& ahead);

// Parameters `ahead` of the iterate. 8 bytes.
void write_parameters(cudaStream_t stream, Slice parameters, ConstSlice iterate, const Ahead& ahead);

// into = −rate·(gradient + decay·x). 12 bytes.
void write_step(cudaStream_t stream, Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay);

// x ← x − difference. 12 bytes.
void subtract(cudaStream_t stream, Slice parameters, ConstSlice difference);

}  // namespace eave::cuda
