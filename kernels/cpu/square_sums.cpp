#include "kernels/cpu/square_sums.h"

#include "kernels/cpu/lane_sums.h"

namespace eave::cpu {
namespace {

typedef double DoubleLanes __attribute__((vector_size(8 * kSumLanes)));

// The sum of value(i)². `lanes(i, vector)` sets the vector to the 16 values from i on.
template <class Lanes, class Value>
EAVE_INLINE double sum_squares(std::size_t count, Lanes lanes, Value value) {
  DoubleLanes sum = {};
  const std::size_t whole = count / kSumLanes * kSumLanes;
  for (std::size_t i = 0; i < whole; i += kSumLanes) {
    DoubleLanes x;
    lanes(i, x);
    sum += x * x;
  }
  double total = 0;
  for (std::size_t i = whole; i < count; ++i) total += value(i) * value(i);
  for (std::int64_t k = 0; k < kSumLanes; ++k) total += sum[k];
  return total;
}

EAVE_INLINE void widen(const float* from, DoubleLanes& into) {
  LaneVector values;
  load_lanes(from, values);
  into = __builtin_convertvector(values, DoubleLanes);
}

}  // namespace

EAVE_MULTIVERSION double sum_of_squares(const float* values, std::size_t count) {
  return sum_squares(
      count, [=](std::size_t i, DoubleLanes & x) __attribute__((always_inline)) { widen(values + i, x); },
      [=](std::size_t i) __attribute__((always_inline)) { return double{values[i]}; });
}

EAVE_MULTIVERSION double sum_of_squared_differences(const float* a, const float* b, std::size_t count) {
  return sum_squares(
      count,
      [=](std::size_t i, DoubleLanes & x) __attribute__((always_inline)) {
        DoubleLanes other;
        widen(a + i, x);
        widen(b + i, other);
        x -= other;
      },
      [=](std::size_t i) __attribute__((always_inline)) { return double{a[i]} - double{b[i]}; });
}

}  // namespace eave::cpu
