// Vectors of kWidth floats. Only sources that are compiled once per instruction set may include this. Everything here
// has internal linkage, and nothing of the standard library is called. So the linker cannot take a function compiled
// for one CPU into code that runs on another.
#pragma once

#include <cstdint>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr int kWidth = EAVE_VECTOR_WIDTH;

typedef float Vector __attribute__((vector_size(4 * EAVE_VECTOR_WIDTH)));
typedef std::int32_t Lanes __attribute__((vector_size(4 * EAVE_VECTOR_WIDTH)));
typedef float AnyVector __attribute__((vector_size(4 * EAVE_VECTOR_WIDTH), aligned(4), may_alias));

// Unrolls loops over arrays of vectors at once. Otherwise the compiler would keep the arrays in memory.
#define EAVE_UNROLL _Pragma("GCC unroll 32")

EAVE_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
EAVE_INLINE std::int64_t larger(std::int64_t a, std::int64_t b) { return a < b ? b : a; }

EAVE_INLINE Vector load(const float* from) { return *reinterpret_cast<const AnyVector*>(from); }
EAVE_INLINE void store(float* into, Vector value) { *reinterpret_cast<AnyVector*>(into) = value; }
// The same without a copy in the caches. `into` must be aligned to a whole vector. Other threads see the values after
// finish_stores.
EAVE_INLINE void store_past_caches(float* into, Vector value) {
  asm volatile("vmovntps %1, %0" : "=m"(*reinterpret_cast<AnyVector*>(into)) : "v"(value));
}
EAVE_INLINE void finish_stores() { asm volatile("sfence" : : : "memory"); }
EAVE_INLINE bool is_aligned(const float* row, std::int64_t stride) {
  return (reinterpret_cast<std::uintptr_t>(row) | static_cast<std::uintptr_t>(stride) * sizeof(float)) %
             sizeof(Vector) ==
         0;
}
// All lanes are `value`, in a register: the compiler must not make it a memory operand of every use.
EAVE_INLINE Vector broadcast(float value) {
  Vector all = value - Vector{};
  asm("" : "+v"(all));
  return all;
}

// The lanes of two vectors that each vector consists of after an exchange of blocks. The lanes of the second one are
// counted from kWidth on.
template <int kApart>
struct ExchangeLanes {
  constexpr ExchangeLanes() {
    for (int lane = 0; lane < kWidth; ++lane) {
      first[lane] = (lane & kApart) == 0 ? lane : kWidth + lane - kApart;
      second[lane] = (lane & kApart) == 0 ? lane + kApart : kWidth + lane;
    }
  }
  alignas(64) std::int32_t first[kWidth]{};
  alignas(64) std::int32_t second[kWidth]{};
};

// Exchanges blocks of kApart lanes: a's odd blocks for b's even ones.
template <int kApart>
EAVE_INLINE void exchange(Vector& a, Vector& b) {
  static constexpr ExchangeLanes<kApart> kLanes;
  const Vector old_a = a, old_b = b;
  a = __builtin_shuffle(old_a, old_b, *reinterpret_cast<const Lanes*>(kLanes.first));
  b = __builtin_shuffle(old_a, old_b, *reinterpret_cast<const Lanes*>(kLanes.second));
}

template <int kApart>
EAVE_INLINE void exchange_blocks(Vector* rows) {
  EAVE_UNROLL for (int i = 0; i < kWidth; ++i) {
    if ((i & kApart) == 0) exchange<kApart>(rows[i], rows[i + kApart]);
  }
}

// Exchanges lane j of rows[i] and lane i of rows[j], by exchanging blocks of 1, 2, 4 ... lanes between rows that are as
// far apart.
EAVE_INLINE void transpose(Vector* rows) {
  exchange_blocks<1>(rows);
  exchange_blocks<2>(rows);
  exchange_blocks<4>(rows);
  if constexpr (kWidth == 16) exchange_blocks<8>(rows);
}

}  // namespace
}  // namespace eave::cpu
