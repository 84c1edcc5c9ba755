// Several neighbouring numbers that one thread reads and writes at once. Memory bandwidth is fully used if each thread
// moves 16 bytes. Arithmetic is always in float.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/support/half.h"

namespace eave::cuda {

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(Half value) { return __bfloat162float(value); }
template <class T>
__device__ inline T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline Half from_float<Half>(float value) {
  return __float2bfloat16(value);
}

template <int kWidth>
struct Lanes {
  float at[kWidth];
};

// The numbers that one thread moves at once. Memory must be aligned to the packet's size, or to 16 bytes if it is
// larger.
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth <= 16 ? sizeof(T) * kWidth : 16) Packet {
  T at[kWidth];
};

template <int kWidth, class T>
__device__ inline Lanes<kWidth> load(const T* from) {
  const Packet<T, kWidth> packet = *reinterpret_cast<const Packet<T, kWidth>*>(from);
  Lanes<kWidth> lanes;
  for (int k = 0; k < kWidth; ++k) lanes.at[k] = to_float(packet.at[k]);
  return lanes;
}

// Stores by explicit instructions: nvcc 13 splits some assignments of a whole packet into stores of 2 and 4 bytes.
template <int kWidth>
__device__ inline void store(float* into, const Lanes<kWidth>& lanes) {
  if constexpr (kWidth == 1) {
    *into = lanes.at[0];
  } else {
    static_assert(kWidth % 4 == 0);
    for (int k = 0; k < kWidth; k += 4) {
      __stwb(reinterpret_cast<float4*>(into + k),
             make_float4(lanes.at[k], lanes.at[k + 1], lanes.at[k + 2], lanes.at[k + 3]));
    }
  }
}

__device__ inline unsigned pair_of(float low, float high) {
  return __bfloat16_as_ushort(__float2bfloat16(low)) |
         static_cast<unsigned>(__bfloat16_as_ushort(__float2bfloat16(high))) << 16;
}

template <int kWidth>
__device__ inline void store(Half* into, const Lanes<kWidth>& lanes) {
  static_assert(kWidth == 1 || kWidth == 4 || kWidth == 8);
  const float* at = lanes.at;
  if constexpr (kWidth == 1) {
    *into = __float2bfloat16(at[0]);
  } else if constexpr (kWidth == 4) {
    __stwb(reinterpret_cast<uint2*>(into), make_uint2(pair_of(at[0], at[1]), pair_of(at[2], at[3])));
  } else {
    __stwb(reinterpret_cast<uint4*>(into),
           make_uint4(pair_of(at[0], at[1]), pair_of(at[2], at[3]), pair_of(at[4], at[5]), pair_of(at[6], at[7])));
  }
}

// The number of activations of type T in 16 bytes.
template <class T>
inline constexpr int kActivationWidth = static_cast<int>(16 / sizeof(T));

// The number of elements before the first packet of `width`. −1 if the pointers disagree, so that packets are
// impossible. Absent slices are nullptr and agree with all others.
template <class... T>
inline int elements_before_packet(int width, const T*... pointers) {
  int phase = -1;
  bool agree = true;
  const auto look = [&](const void* pointer, std::size_t size) {
    if (pointer == nullptr) return;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const auto own = static_cast<int>(address / size % static_cast<std::size_t>(width));
    agree = agree && address % size == 0 && (phase < 0 || own == phase);
    phase = own;
  };
  (look(pointers, sizeof(T)), ...);
  if (!agree) return -1;
  return phase <= 0 ? 0 : width - phase;
}

}  // namespace eave::cuda
