// Passes over a center and its averages. When a worker's message arrives at a shard, these functions combine the two;
// others prepare what a worker sends.
//
// Each element is computed without fused multiply-add, so equal inputs give equal bits on every x86-64. Slices of one
// call have equal sizes and do not overlap. The bytes moved per parameter stand beside each function. A value that is
// not finite is never written: the element of the center, average or parameter keeps its old value, and its step is 0.
#pragma once

#include "eave/slice.h"
#include "eave/update_steps.h"

namespace eave::cpu {

// message x becomes d = alpha·(x − center);  center ← center + d. 16 bytes.
void meet_elastically(Slice center, Slice message, float alpha);

// center ← center + v, and the message v becomes the new center. 16 bytes.
void push_and_pull(Slice center, Slice message);

// message s = −η·g:  v ← momentum·v + s;  center ← center + v;  the message becomes center + momentum·v. 24 bytes.
void push_into_velocity(Slice center, Slice velocity, Slice message, float momentum);

// average ← (1 − share)·average + share·values, where the average is average + rest. `rest` keeps what float32 rounds
// away when share is small; without it, an average of a million values would stop moving. A share of 1 copies. 20
// bytes. If values are `ahead` of the iterate, the iterate is averaged. 24 bytes.
void move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead = {});

// into = the iterate, which is x itself unless the parameters x are `ahead` of it. 8 bytes.
void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead);

// Message b becomes x − b, where x is the iterate that the parameters are `ahead` of. 12 bytes.
void write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead);

// Writes the parameters that are `ahead` of `iterate`. 8 bytes.
void write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead);

// into = −rate·(gradient + decay·x). 12 bytes.
void write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay);

// x ← x − difference. 12 bytes.
void subtract(Slice parameters, ConstSlice difference);

// The outer step of methods that treat the way the workers have gone since the last exchange as one gradient. If an
// element's new center would not be finite, its center and velocity stay as they were, and the workers go on from
// there.
//
// Slices have equal sizes and do not overlap. 24 bytes moved per parameter.
void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step);

}  // namespace eave::cpu
