#include "bench/fma_peak.h"

#include <algorithm>
#include <array>

#include "bench/cpu_clock.h"

namespace eave::bench {
namespace {

// __BIGGEST_ALIGNMENT__ is the size of the widest vector register that this build may use.
constexpr int kVectorBytes = __BIGGEST_ALIGNMENT__;
using Vector = float __attribute__((vector_size(kVectorBytes)));

// Twelve independent chains hide the latency of two multiply-add units and fit sixteen registers.
constexpr int kChains = 12;
constexpr int kRepeats = 2'000'000;

void multiply_add(std::array<Vector, kChains>& sums, Vector factor, Vector addend) {
  std::array<Vector, kChains> local = sums;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (Vector& sum : local) sum = sum * factor + addend;
    asm volatile("" ::: "memory");
  }
  sums = local;
}

}  // namespace

double measure_fma_peak_gflops(double seconds) {
  constexpr double kOperations = 2.0 * kRepeats * kChains * (kVectorBytes / sizeof(float));
  std::array<Vector, kChains> sums{};
  const Vector factor = Vector{} + 0.999F;
  const Vector addend = Vector{} + 0.001F;
  double best = 0;
  for (double begin = cpu_seconds(), now = begin; now - begin < seconds;) {
    multiply_add(sums, factor, addend);
    const double end = cpu_seconds();
    best = std::max(best, kOperations / (end - now) * 1e-9);
    now = end;
  }
  // Uses the results, so that the compiler cannot remove the loop.
  Vector total{};
  for (const Vector& sum : sums) total += sum;
  return total[0] > 0 ? best : 0;
}

}  // namespace eave::bench
