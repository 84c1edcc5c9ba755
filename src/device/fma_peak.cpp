#include "device/fma_peak.h"

#include <algorithm>
#include <ctime>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace eave {
namespace {

// Twelve independent chains hide the latency of two multiply-add units, and fit sixteen registers.
constexpr int kChains = 12, kRepeats = 10'000, kBursts = 12;

#ifdef __x86_64__

__attribute__((target("avx512f"))) float burst_of_512_bits() {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i)
    sums[i] = _mm512_set1_ps(0.1f * static_cast<float>(i));  // equal chains would be one
  const __m512 factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(0.001f);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
#pragma GCC unroll 12  // else the sums are in memory
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, addend);
  }
  float total = 0;
  for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
  return total;
}

__attribute__((target("avx2,fma"))) float burst_of_256_bits() {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(0.1f * static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(0.001f);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
  }
  float total = 0;
  for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
  return total;
}

#endif

struct Burst {
  float (*run)() = nullptr;
  int lanes = 0;
};

Burst widest_burst() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return {burst_of_512_bits, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {burst_of_256_bits, 8};
#endif
  return {};
}

// CPU time, so that other work on the core does not count.
double seconds_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double measure_fma_peak() {
  const Burst burst = widest_burst();
  if (burst.run == nullptr) return 0;
  const double operations = 2.0 * kChains * kRepeats * burst.lanes;
  double best = 0, checked = 0;
  for (int i = 0; i < kBursts; ++i) {
    const double begin = seconds_of_thread();
    checked += static_cast<double>(burst.run());
    const double seconds = seconds_of_thread() - begin;
    if (seconds > 0) best = std::max(best, operations / seconds);
  }
  return checked > 0 ? best : 0;
}

}  // namespace eave
