// Algebra on flat vectors in the CPU's memory. Both operands must have the same size (checked). Sums are accumulated in
// double and always in the same order, so the same values give the same bits.
#pragma once

#include "eave/slice.h"

namespace eave::flat {

void add_scaled(Slice into, float factor, ConstSlice from);  // into += factor · from
void scale(Slice values, float factor);
void copy(Slice into, ConstSlice from);
void fill(Slice values, float value);

double norm(ConstSlice values);               // Euclidean
double distance(ConstSlice a, ConstSlice b);  // norm of a − b
bool all_finite(ConstSlice values);

}  // namespace eave::flat
