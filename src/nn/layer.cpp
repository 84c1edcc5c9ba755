#include "nn/layer.h"

#include <cmath>

namespace eave {
namespace {

constexpr std::int64_t kAlignment = 16;  // floats: a cache line

}  // namespace

std::vector<std::int64_t> Layer::input_parts() const {
  const AttentionShape of = place_role().heads;
  if (of.heads == 0) return {};
  return {of.heads * of.width, of.groups * of.width, of.groups * of.width};
}

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
  fill_normal(key, 1 / std::sqrt(fan_in), values);
}

void fill_normal(const RandomKey& key, double deviation, Slice values) {
  RandomStream stream(key, 0);
  for (float& value : values) value = static_cast<float>(deviation * stream.normal());
}

PoolShape read_pool(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  PoolShape shape;
  shape.input = context.input;
  const auto size = arguments.take_size("the window");
  shape.window = {size.height, size.width, size.height, 0};
  while (take_window_option(arguments, shape.window)) continue;
  arguments.finish();
  require_window_fits(context, shape.window, shape.output());
  return shape;
}

bool take_window_option(ArgumentReader& arguments, Window& window) {
  constexpr int kMostStride = 255;
  if (arguments.has_next() && arguments.take_word("stride")) {
    window.stride = arguments.take_count("the stride", 1, kMostStride);
  } else if (arguments.has_next() && arguments.take_word("pad")) {
    // The padding is smaller than the window, so every window contains a pixel of the image.
    window.pad = arguments.take_count("the padding", 0, std::min(window.height, window.width) - 1);
  } else {
    return false;
  }
  return true;
}

void require_window_fits(const LayerContext& context, const Window& window, const ImageShape& output) {
  if (output.height >= 1 && output.width >= 1) return;
  fail_fit(context.text, "the window of " + std::to_string(window.height) + "×" + std::to_string(window.width) +
                             " is larger than its input of " + to_string(context.input) +
                             "; use a smaller window, padding, or fewer pools before it");
}

bool absorb_relu(const LayerText& next, bool& relu) {
  if (next.word != "relu" || relu) return false;
  ArgumentReader(next).finish();
  return relu = true;
}

}  // namespace eave
