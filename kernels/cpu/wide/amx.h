// Matrix products by the matrix unit (AMX).
#pragma once

#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {

// AVX-512's kernels, with large products by the matrix unit. nullptr if the unit is not available.
const WideKernels* wide_table_amx();

// The same with products of every size by the unit, for tests. nullptr if the unit is not available.
const WideKernels* wide_table_amx_only();

// Same contracts as in WideKernels. Call them only if the unit is available.

std::int64_t multiply_scratch_amx(const Product& product);
void multiply_amx(const Product& product, float* scratch);

}  // namespace eave::cpu
