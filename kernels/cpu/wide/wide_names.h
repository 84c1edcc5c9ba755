// The names of the kernels of one instruction set. EAVE_WIDE(multiply) is multiply_avx512 if EAVE_WIDE_SUFFIX is
// _avx512.
#pragma once

#include "kernels/cpu/wide/wide_kernels.h"

#define EAVE_WIDE_JOIN2(name, suffix) name##suffix
#define EAVE_WIDE_JOIN(name, suffix) EAVE_WIDE_JOIN2(name, suffix)
#define EAVE_WIDE(name) EAVE_WIDE_JOIN(name, EAVE_WIDE_SUFFIX)

namespace eave::cpu {

std::int64_t EAVE_WIDE(multiply_scratch)(const Product& product);
void EAVE_WIDE(multiply)(const Product& product, float* scratch);
std::int64_t EAVE_WIDE(pooled_gradient_scratch)(const PooledConvolution& shape);
void EAVE_WIDE(pooled_gradient)(const PooledConvolution& shape, const PooledGradient& gradient, float* scratch);
const WideKernels* EAVE_WIDE(wide_table)();

}  // namespace eave::cpu
