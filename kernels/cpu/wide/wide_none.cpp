// For builds without wide kernels: the list is empty.
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {

std::vector<const WideKernels*> wide_kernels() { return {}; }

}  // namespace eave::cpu
