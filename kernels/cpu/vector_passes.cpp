#include "kernels/cpu/vector_passes.h"

#include <algorithm>
#include <bit>

#include "kernels/cpu/finite.h"
#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr std::size_t kPart = 4096;  // values between two looks at what has been found

// Without branches in the loops, so that one instruction handles eight or sixteen values. Negative if one of the values
// is not finite.
EAVE_MULTIVERSION std::int32_t sign_of(const float* values, std::size_t count) {
  std::int32_t sign = 0;
  for (std::size_t i = 0; i < count; ++i) sign |= kInfinite - 1 - magnitude_of(values[i]);
  return sign;
}

// Both factors have 32 bits, so that vectors multiply them by one instruction.
EAVE_INLINE std::uint64_t mark_of(float value, std::size_t place) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::uint64_t{bits} * (bits ^ static_cast<std::uint32_t>(place));
}

EAVE_MULTIVERSION CopiedValues copy_values(float* into, const float* from, std::size_t count, std::size_t first) {
  CopiedValues found;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = from[i];
    found.largest = std::max(found.largest, magnitude_of(value));
    found.fingerprint += mark_of(value, first + i);
    into[i] = value;
  }
  return found;
}

EAVE_MULTIVERSION CopiedValues copy_products(float* into, const float* from, float weight, std::size_t count,
                                             std::size_t first) {
  CopiedValues found;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = from[i], product = weight * value;
    found.largest = std::max(found.largest, magnitude_of(product));
    found.fingerprint += mark_of(value, first + i);
    into[i] = product;
  }
  return found;
}

EAVE_MULTIVERSION std::uint64_t sum_of_marks(const float* values, std::size_t count, std::size_t first) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += mark_of(values[i], first + i);
  return sum;
}

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

bool all_finite(const float* values, std::size_t count) {
  for (std::size_t at = 0; at < count; at += kPart)
    if (sign_of(values + at, std::min(kPart, count - at)) < 0) return false;
  return true;
}

CopiedValues copy_weighted(float* into, const float* from, float weight, std::size_t count, std::size_t first) {
  // A product with 1 could still turn a denormal number into 0, if the thread flushes them.
  return weight == 1 ? copy_values(into, from, count, first) : copy_products(into, from, weight, count, first);
}

std::uint64_t fingerprint(const float* values, std::size_t count, std::size_t first) {
  return sum_of_marks(values, count, first);
}

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
