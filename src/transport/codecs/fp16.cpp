// The codec `fp16`: IEEE binary16, with 11 bits, times a power of two per block. The factor brings the block's largest
// magnitude to 2^14 … 2^15, so no value overflows (but 3.4e38 rounds to infinity). Values below 2^-29 of the largest
// keep fewer bits. Rounds to nearest even. A block with a value that is not finite comes back as NaN.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/codec.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

constexpr std::size_t kFactorBytes = sizeof(float);  // the factor for decoding
// Half of the last bit that is kept. Added before the exponent is read, it gives the exponent of the largest value as
// rounded. So encoding decoded values again gives the same bytes.
constexpr std::uint32_t kRounding = 0x1000;

class Fp16 final : public Codec {
 public:
  std::size_t encoded_bytes(std::size_t count) const override { return kFactorBytes + 2 * count; }

  void encode(ConstSlice block, std::byte* into) const override {
    const std::uint32_t largest = cpu::largest_magnitude(block.data(), block.size());
    const bool is_finite = largest < 0x7f800000;
    const int exponent = static_cast<int>((largest + kRounding) >> 23) - 127;
    const int shift = is_finite ? std::min(14 - exponent, 126) : 0;
    const float factor = is_finite ? std::ldexp(1.0f, -shift) : std::numeric_limits<float>::quiet_NaN();
    std::memcpy(into, &factor, kFactorBytes);
    auto* const halves = reinterpret_cast<std::uint16_t*>(into + kFactorBytes);
    if (!is_finite) return static_cast<void>(std::fill_n(halves, block.size(), std::uint16_t{0}));
    cpu::write_fp16(halves, block.data(), block.size(), std::ldexp(1.0f, shift));
  }

  void decode(Slice block, const std::byte* from) const override {
    float factor = 0;
    std::memcpy(&factor, from, kFactorBytes);
    cpu::read_fp16(block.data(), reinterpret_cast<const std::uint16_t*>(from + kFactorBytes), block.size(), factor);
  }

  std::string describe() const override { return "11 bits of each value's 24, a power of two per 1024 values"; }
};

}  // namespace

CodecKind describe_codec_fp16() {
  return {"fp16",
          "half the bytes: values rounded to 11 significant bits, scaled so that none overflows",
          true,
          {},
          [](const OptionValues&) -> std::unique_ptr<Codec> { return std::make_unique<Fp16>(); }};
}

}  // namespace eave
