#include "device/cpu/flat.h"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "eave/check.h"

namespace eave::flat {
namespace {

using Vector = Eigen::Map<Eigen::ArrayXf>;
using ConstVector = Eigen::Map<const Eigen::ArrayXf>;

Vector view(Slice values) { return {values.data(), static_cast<Eigen::Index>(values.size())}; }
ConstVector view(ConstSlice values) { return {values.data(), static_cast<Eigen::Index>(values.size())}; }

void check_same_size(std::size_t a, std::size_t b) {
  EAVE_CHECK(a == b, std::to_string(a) + " and " + std::to_string(b) + " numbers");
}

}  // namespace

void add_scaled(Slice into, float factor, ConstSlice from) {
  check_same_size(into.size(), from.size());
  view(into) += factor * view(from);
}

void scale(Slice values, float factor) { view(values) *= factor; }

void copy(Slice into, ConstSlice from) {
  check_same_size(into.size(), from.size());
  view(into) = view(from);
}

void fill(Slice values, float value) { view(values) = value; }

double norm(ConstSlice values) { return std::sqrt(view(values).cast<double>().square().sum()); }

double distance(ConstSlice a, ConstSlice b) {
  check_same_size(a.size(), b.size());
  return std::sqrt((view(a).cast<double>() - view(b).cast<double>()).square().sum());
}

// Checks a part at a time without branches inside it, so that one instruction handles four or eight values.
bool all_finite(ConstSlice values) {
  constexpr std::size_t kPart = 4096;
  constexpr std::int32_t kLargest = 0x7f7fffff;  // the magnitude of the largest finite number
  for (std::size_t at = 0; at < values.size(); at += kPart) {
    std::int32_t sign = 0;
    for (const float value : values.subspan(at, std::min(kPart, values.size() - at)))
      sign |= kLargest - (std::bit_cast<std::int32_t>(value) & 0x7fffffff);
    if (sign < 0) return false;
  }
  return true;
}

}  // namespace eave::flat
