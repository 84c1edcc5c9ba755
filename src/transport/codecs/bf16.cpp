// The codec `bf16`: the upper half of a float32, with its range and 8 of its 24 bits. Rounds to nearest even. Beyond
// the largest value, 3.39e38, it becomes infinite.
#include "kernels/cpu/codec.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

class Bf16 final : public Codec {
 public:
  std::size_t encoded_bytes(std::size_t count) const override { return 2 * count; }
  void encode(ConstSlice block, std::byte* into) const override {
    cpu::write_bf16(reinterpret_cast<std::uint16_t*>(into), block.data(), block.size());
  }
  void decode(Slice block, const std::byte* from) const override {
    cpu::read_bf16(block.data(), reinterpret_cast<const std::uint16_t*>(from), block.size());
  }
  std::string describe() const override { return "8 bits of each value's 24, float32's range"; }
};

}  // namespace

CodecKind describe_codec_bf16() {
  return {"bf16",
          "half the bytes: values rounded to 8 significant bits, with float32's range",
          true,
          {},
          [](const OptionValues&) -> std::unique_ptr<Codec> { return std::make_unique<Bf16>(); }};
}

}  // namespace eave
