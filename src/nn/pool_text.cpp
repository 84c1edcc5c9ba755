#include "nn/pool_text.h"

namespace eave {

PoolShape read_pool(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  PoolShape shape;
  shape.input = context.input;
  const auto size = arguments.take_size("the window");
  shape.window = {size.height, size.width, size.height, 0};
  while (arguments.has_next()) {
    if (arguments.take_word("stride")) {
      shape.window.stride = arguments.take_count("the stride", 1, 255);
    } else if (arguments.take_word("pad")) {
      // The padding is smaller than the window, so every window contains a pixel of the image.
      shape.window.pad = arguments.take_count("the padding", 0, std::min(size.height, size.width) - 1);
    } else {
      break;
    }
  }
  arguments.finish();
  const ImageShape out = shape.output();
  if (out.height < 1 || out.width < 1) {
    fail_fit(context.text, "the window of " + std::to_string(size.height) + "×" + std::to_string(size.width) +
                               " is larger than its input of " + to_string(context.input) +
                               "; use a smaller window or fewer pools before it");
  }
  return shape;
}

}  // namespace eave
