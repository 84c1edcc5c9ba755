// A toy for test/extend: whole numbers of 12 bits times a power of two for each block; two values in three bytes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/codec.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

class ToyInt12 final : public Codec {
 public:
  std::size_t encoded_bytes(std::size_t count) const override { return sizeof(float) + (3 * count + 1) / 2; }
  void encode(ConstSlice block, std::byte* into) const override {
    const auto largest = std::bit_cast<float>(cpu::largest_magnitude(block.data(), block.size()));
    const float step = !std::isfinite(largest) ? std::numeric_limits<float>::quiet_NaN()
                       : largest < 0x1p-100f   ? 0
                                               : std::ldexp(1.0f, std::ilogb(largest) - 10);
    std::memcpy(into, &step, sizeof step);
    into += sizeof step;
    for (std::size_t i = 0; i < block.size(); i += 2, into += 3) {
      const bool is_pair = i + 1 < block.size();
      const std::uint32_t bits = steps_of(block[i], step) | (is_pair ? steps_of(block[i + 1], step) << 12 : 0);
      std::memcpy(into, &bits, is_pair ? 3 : 2);
    }
  }
  void decode(Slice block, const std::byte* from) const override {
    float step = 0;
    std::memcpy(&step, from, sizeof step);
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from + sizeof step + 3 * i / 2, sizeof bits);
      block[i] = step * static_cast<float>(static_cast<std::int16_t>(i % 2 == 0 ? bits << 4 : bits) >> 4);
    }
  }
  std::string describe() const override { return "12 bits, a power of two per 1024 values"; }

 private:
  static std::uint32_t steps_of(float value, float step) {
    if (!(step > 0)) return 0;
    return static_cast<std::uint32_t>(static_cast<int>(std::clamp(std::nearbyint(value / step), -2047.0f, 2047.0f))) &
           0xfff;
  }
};

}  // namespace

CodecKind describe_codec_toy_int12() {
  return {"toy-int12", "a toy: values rounded to 12 bits", true, {}, [](const OptionValues&) -> std::unique_ptr<Codec> {
            return std::make_unique<ToyInt12>();
          }};
}

}  // namespace eave
