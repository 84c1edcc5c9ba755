// The codec `int8`: integers −127 … 127 times a scale per block, which is the block's largest magnitude / 127. Rounds
// to nearest even. A block with a value that is not finite comes back as NaN, and one without any value above 2^-100 as
// 0.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/cpu/codec.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

constexpr std::size_t kScaleBytes = sizeof(float);  // the scale
constexpr float kLargest = 127, kNothing = 0x1p-100f;

class Int8 final : public Codec {
 public:
  std::size_t encoded_bytes(std::size_t count) const override { return kScaleBytes + count; }

  void encode(ConstSlice block, std::byte* into) const override {
    const std::uint32_t bits = cpu::largest_magnitude(block.data(), block.size());
    const auto largest = std::bit_cast<float>(bits);
    const bool is_finite = bits < 0x7f800000;
    const float scale = !is_finite           ? std::numeric_limits<float>::quiet_NaN()
                        : largest < kNothing ? 0
                                             : largest / kLargest;
    std::memcpy(into, &scale, kScaleBytes);
    auto* const integers = reinterpret_cast<std::int8_t*>(into + kScaleBytes);
    if (!is_finite || scale == 0) return static_cast<void>(std::fill_n(integers, block.size(), std::int8_t{0}));
    cpu::write_int8(integers, block.data(), block.size(), kLargest / largest);
  }

  void decode(Slice block, const std::byte* from) const override {
    float scale = 0;
    std::memcpy(&scale, from, kScaleBytes);
    cpu::read_int8(block.data(), reinterpret_cast<const std::int8_t*>(from + kScaleBytes), block.size(), scale);
  }

  std::string describe() const override { return "255 steps, a scale per 1024 values"; }
};

}  // namespace

CodecKind describe_codec_int8() {
  return {"int8",
          "a quarter of the bytes: values rounded to multiples of 1/127 of the largest in each 1024",
          false,
          {},
          [](const OptionValues&) -> std::unique_ptr<Codec> { return std::make_unique<Int8>(); }};
}

}  // namespace eave
