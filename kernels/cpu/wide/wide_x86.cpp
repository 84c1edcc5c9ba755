// Lists the wide kernels that an x86-64 CPU can run.
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {

const WideKernels* wide_table_avx512();
const WideKernels* wide_table_avx2();

std::vector<const WideKernels*> wide_kernels() {
  std::vector<const WideKernels*> fitting;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    if (const WideKernels* amx = wide_table_amx()) fitting.push_back(amx);
    fitting.push_back(wide_table_avx512());
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) fitting.push_back(wide_table_avx2());
  return fitting;
}

}  // namespace eave::cpu
