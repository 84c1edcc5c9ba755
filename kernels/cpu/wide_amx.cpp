// The kernels of AVX-512, with large products by the matrix unit. Linux lends a process that unit when it asks.
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/cpu/wide/amx.h"

namespace eave::cpu {

// What serves small products, and all else.
const WideKernels* wide_table_avx512();

namespace {

// Below this many rows, columns and depth, splitting takes about what it saves: 96 are 1.2 to 1.4 times as fast as by
// vectors, 64 are 0.97 to 1.23, 48 are 0.93 to 1.05.
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

// Not where the system is older than the unit, or where a thread has too little room for signals.
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
