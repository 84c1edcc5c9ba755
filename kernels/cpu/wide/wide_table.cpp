// The table of one instruction set's kernels. This file is compiled once per instruction set.
#include "kernels/cpu/wide/wide_names.h"

namespace eave::cpu {

#define EAVE_WIDE_TEXT2(name) #name
#define EAVE_WIDE_TEXT(name) EAVE_WIDE_TEXT2(name)

const WideKernels* EAVE_WIDE(wide_table)() {
  static constexpr WideKernels kTable = {EAVE_WIDE_TEXT(EAVE_WIDE_NAME),     EAVE_VECTOR_WIDTH,
                                         EAVE_WIDE(multiply_scratch),        EAVE_WIDE(multiply),
                                         EAVE_WIDE(pooled_gradient_scratch), EAVE_WIDE(pooled_gradient)};
  return &kTable;
}

}  // namespace eave::cpu
