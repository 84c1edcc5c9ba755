// What happens to a shard of a center when a worker's message meets it, and what a worker does around that. Element by
// element, without fused multiply-add: equal inputs give equal bits on every x86-64. Slices of one call are equally
// large and do not overlap. Bytes moved per parameter stand beside each function. What would not be finite is not
// written: the element of a center, an average or a parameter stays, and a step is 0 there.
#pragma once

#include "eave/slice.h"

namespace eave::cpu {

// message x becomes d = alpha·(x − center);  center ← center + d. 16 bytes.
void meet_elastically(Slice center, Slice message, float alpha);

// message v is added to the center, and becomes it. 16 bytes.
void push_and_pull(Slice center, Slice message);

// message s = −η·g:  v ← momentum·v + s;  center ← center + v;  the message becomes center + momentum·v. 24 bytes.
void push_into_velocity(Slice center, Slice velocity, Slice message, float momentum);

// average ← (1 − share)·average + share·values, the average being average + rest: what float32 drops of a small share
// is kept in `rest`, or an average of a million values would stand still. A share of 1 copies. 20 bytes. Where values
// are `ahead` of the iterate, the iterate is averaged. 24 bytes.
void move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead = {});

// into = x, or the iterate that parameters x are `ahead` of. 8 bytes.
void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead);

// message b becomes x − b, x being the iterate that parameters are `ahead` of. 12 bytes.
void write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead);

// Parameters `ahead` of the iterate. 8 bytes.
void write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead);

// into = −rate·(gradient + decay·x). 12 bytes.
void write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay);

// x ← x − difference. 12 bytes.
void subtract(Slice parameters, ConstSlice difference);

}  // namespace eave::cpu
