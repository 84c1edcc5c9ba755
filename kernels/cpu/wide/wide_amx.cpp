// AVX-512's kernels, with large products by the matrix unit (AMX). Linux lends a process that unit on request.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {

// Serves small products and everything else.
const WideKernels* wide_table_avx512();

namespace {

// The smallest rows, columns and depth that the unit is used for; below them, splitting costs about what it saves.
// Against vectors, the unit is 1.2 to 1.4 times as fast at 96, 0.97 to 1.23 times at 64, and 0.93 to 1.05 times at 48.
constexpr std::int64_t kLeast = 64;

bool suits(const Product& p) { return p.rows >= kLeast && p.columns >= kLeast && p.depth >= kLeast; }

std::int64_t multiply_scratch(const Product& product) {
  return suits(product) ? multiply_scratch_amx(product) : wide_table_avx512()->multiply_scratch(product);
}

void multiply(const Product& product, float* scratch) {
  suits(product) ? multiply_amx(product, scratch) : wide_table_avx512()->multiply(product, scratch);
}

bool has_unit() {
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAvx512Bf16 = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAmxBf16) == 0 || (d & kAmxTile) == 0) return false;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
}

// False if the system is older than the unit, or if a thread's signal stack is too small.
bool is_lent_unit() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool may_use() {
  static const bool it_may = has_unit() && is_lent_unit();
  return it_may;
}

WideKernels with_products(const char* name, decltype(WideKernels::multiply_scratch) scratch,
                          decltype(WideKernels::multiply) multiply) {
  WideKernels kernels = *wide_table_avx512();
  kernels.name = name;
  kernels.multiply_scratch = scratch;
  kernels.multiply = multiply;
  return kernels;
}

}  // namespace

const WideKernels* wide_table_amx() {
  static const WideKernels kTable = with_products("amx", multiply_scratch, multiply);
  return may_use() ? &kTable : nullptr;
}

const WideKernels* wide_table_amx_only() {
  static const WideKernels kTable = with_products("amx only", multiply_scratch_amx, multiply_amx);
  return may_use() ? &kTable : nullptr;
}

}  // namespace eave::cpu
