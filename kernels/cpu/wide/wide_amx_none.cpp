// For builds without the kernels of the matrix unit: there is no table.
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {

const WideKernels* wide_table_amx() { return nullptr; }
const WideKernels* wide_table_amx_only() { return nullptr; }

}  // namespace eave::cpu
