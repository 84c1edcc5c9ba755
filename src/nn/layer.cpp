#include "nn/layer.h"

#include <cmath>

namespace eave {
namespace {

constexpr std::int64_t kAlignment = 16;  // floats: a cache line

}  // namespace

std::int64_t aligned(std::int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

std::int64_t lay_out(std::vector<TensorInfo>& tensors) {
  std::int64_t end = 0;
  for (TensorInfo& tensor : tensors) {
    tensor.offset = end;
    end += aligned(tensor.size);
  }
  return end;
}

TensorInfo make_tensor(std::string name, std::vector<std::int64_t> shape) {
  std::int64_t size = 1;
  for (const std::int64_t side : shape) size *= side;
  return {std::move(name), std::move(shape), 0, size};
}

void fill_weights(const RandomKey& key, double fan_in, Slice values) {
  RandomStream stream(key, 0);
  const double deviation = 1 / std::sqrt(fan_in);
  for (float& value : values) value = static_cast<float>(deviation * stream.normal());
}

}  // namespace eave
