// The codec `top-k`: of each block it sends the values of largest magnitude, exactly, with their places. The others
// become 0. Values that are not finite count as the largest.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/options/option_values.h"
#include "kernels/cpu/codec.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

constexpr double kLargestShare = 0.5;  // each takes 6 bytes: more would not pay
using Place = std::uint16_t;

class TopK final : public Codec {
 public:
  explicit TopK(double share, std::string share_text) : share_(share), share_text_(std::move(share_text)) {}

  std::size_t encoded_bytes(std::size_t count) const override {
    return kept_of(count) * (sizeof(float) + sizeof(Place));
  }

  void encode(ConstSlice block, std::byte* into) const override {
    std::array<Place, kBlock> places;
    std::array<float, kBlock> values;
    const std::size_t kept = kept_of(block.size());
    cpu::find_largest(places.data(), kept, block.data(), block.size());
    for (std::size_t i = 0; i < kept; ++i) values[i] = block[places[i]];
    std::memcpy(into, values.data(), kept * sizeof(float));
    std::memcpy(into + kept * sizeof(float), places.data(), kept * sizeof(Place));
  }

  void decode(Slice block, const std::byte* from) const override {
    std::array<Place, kBlock> places;
    std::array<float, kBlock> values;
    const std::size_t kept = kept_of(block.size());
    std::memcpy(values.data(), from, kept * sizeof(float));
    std::memcpy(places.data(), from + kept * sizeof(float), kept * sizeof(Place));
    // Values that are not finite count as the largest. If one was sent, the block may have had more of them.
    const bool all_finite =
        std::all_of(values.begin(), values.begin() + kept, [](float x) { return std::isfinite(x); });
    std::ranges::fill(block, all_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 0; i < kept; ++i) block[places[i] % block.size()] = values[i];
  }

  std::string describe() const override {
    return "the largest " + share_text_ + " of every 1024 values, " + std::to_string(kept_of(kBlock)) +
           ", exactly; no others";
  }

 private:
  std::size_t kept_of(std::size_t count) const {
    return std::min(count, static_cast<std::size_t>(std::ceil(share_ * static_cast<double>(count))));
  }

  const double share_;
  const std::string share_text_;
};

std::unique_ptr<Codec> make_top_k(const OptionValues& values) {
  const double share = values.real("top-k-share");
  if (share > 0 && share <= kLargestShare) return std::make_unique<TopK>(share, values.text("top-k-share"));
  refuse_option(values, "top-k-share",
                "expected a share above 0, at most 0.5 (each value sent takes 6 bytes); 0.01 is usual");
}

}  // namespace

CodecKind describe_codec_top_k() {
  return {"top-k",
          "only the largest values, with their positions",
          false,
          {{"top-k-share", OptionType::kReal, "0.01", "share of the values to send: the largest of every 1024"}},
          make_top_k};
}

}  // namespace eave
