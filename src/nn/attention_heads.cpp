#include "nn/attention_heads.h"

namespace eave {
namespace {

constexpr int kMostHeads = 1 << 12;

}  // namespace

AttentionShape read_heads(const LayerContext& context, ArgumentReader& arguments) {
  AttentionShape shape;
  shape.positions = std::int64_t{1} * context.input.height * context.input.width;
  shape.heads = shape.groups = arguments.take_count("the number of heads", 1, kMostHeads);
  if (arguments.take_word("groups")) shape.groups = arguments.take_count("the number of groups", 1, kMostHeads);
  const std::int64_t parts = shape.heads + 2 * shape.groups, channels = context.input.channels;
  if (shape.heads % shape.groups != 0) {
    fail_fit(context.text, "its " + std::to_string(shape.heads) + " heads cannot share the keys and values of " +
                               std::to_string(shape.groups) + " groups evenly");
  }
  if (channels % parts != 0) {
    fail_fit(context.text, "its input has " + std::to_string(channels) + " channels, which are no multiple of " +
                               std::to_string(parts) + ", the queries of " + std::to_string(shape.heads) +
                               " heads with the keys and values of " + std::to_string(shape.groups) + " groups");
  }
  shape.width = channels / parts;
  return shape;
}

}  // namespace eave
