#include "device/cpu/flat.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>

#include "eave/check.h"
#include "kernels/cpu/vector_passes.h"

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
  std::copy(from.begin(), from.end(), into.begin());
}

void fill(Slice values, float value) { view(values) = value; }

double norm(ConstSlice values) { return std::sqrt(cpu::sum_of_squares(values.data(), values.size())); }

double distance(ConstSlice a, ConstSlice b) {
  check_same_size(a.size(), b.size());
  return std::sqrt(cpu::sum_of_squared_differences(a.data(), b.data(), a.size()));
}

bool all_finite(ConstSlice values) { return cpu::all_finite(values.data(), values.size()); }

}  // namespace eave::flat
