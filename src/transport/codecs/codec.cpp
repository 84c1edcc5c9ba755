#include "transport/codecs/codec.h"

#include <algorithm>
#include <array>

namespace eave {
namespace {

template <class Visit>
void in_blocks(std::size_t count, Visit visit) {
  for (std::size_t at = 0; at < count; at += Codec::kBlock) visit(at, std::min(Codec::kBlock, count - at));
}

}  // namespace

std::size_t encoded_bytes(const Codec& codec, std::size_t count) {
  const std::size_t rest = count % Codec::kBlock;
  return count / Codec::kBlock * codec.encoded_bytes(Codec::kBlock) + (rest > 0 ? codec.encoded_bytes(rest) : 0);
}

void encode(const Codec& codec, ConstSlice values, std::byte* into) {
  in_blocks(values.size(), [&](std::size_t at, std::size_t count) {
    codec.encode(values.subspan(at, count), into);
    into += codec.encoded_bytes(count);
  });
}

void decode(const Codec& codec, Slice values, const std::byte* from) {
  in_blocks(values.size(), [&](std::size_t at, std::size_t count) {
    codec.decode(values.subspan(at, count), from);
    from += codec.encoded_bytes(count);
  });
}

void round_trip(const Codec& codec, Slice values) {
  std::array<std::byte, Codec::kMostBytes> encoded;
  in_blocks(values.size(), [&](std::size_t at, std::size_t count) {
    codec.encode(values.subspan(at, count), encoded.data());
    codec.decode(values.subspan(at, count), encoded.data());
  });
}

}  // namespace eave
