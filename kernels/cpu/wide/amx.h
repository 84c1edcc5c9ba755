// Products by the matrix unit (AMX).
#pragma once

#include "kernels/cpu/wide_kernels.h"

namespace eave::cpu {

// The kernels of AVX-512, with large products by the unit; nullptr where there is none to be had.
const WideKernels* wide_table_amx();

// The same with products of every size by the unit, for tests; nullptr likewise.
const WideKernels* wide_table_amx_only();

// As those of WideKernels; only where there is a unit.

std::int64_t multiply_scratch_amx(const Product& product);
void multiply_amx(const Product& product, float* scratch);

}  // namespace eave::cpu
