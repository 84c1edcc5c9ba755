#include "c/broadcast.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace eave {

void broadcast_bytes(Transport& transport, char* bytes, std::size_t count) {
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  std::vector<float> piece((std::min(count, kPiece) + sizeof(float) - 1) / sizeof(float));
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t size = std::min(kPiece, count - at);
    std::memcpy(piece.data(), bytes + at, size);
    const Slice values = Slice(piece).first((size + sizeof(float) - 1) / sizeof(float));
    transport.broadcast(values, 0).wait();
    std::memcpy(bytes + at, piece.data(), size);
  }
}

}  // namespace eave
