// How a request travels between processes: a header, then its values. The tag of the reply follows from the header's
// slot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/mpi/mpi_messages.h"

namespace eave {

struct MpiRequestHeader {
  std::int64_t key = 0;
  std::uint64_t count = 0;
  std::int32_t slot = 0;  // index in the sender's window, which tells its requests in flight apart
};

constexpr int kRequestHeaderTag = 16;
// Requests in flight per sender. Enough to hide sending behind answering, and a bound for the owner's memory.
constexpr int kRequestWindow = 8;
inline int tag_of_values(int slot) { return kRequestHeaderTag + 1 + 2 * slot; }
inline int tag_of_reply(int slot) { return kRequestHeaderTag + 2 + 2 * slot; }

// Bytes per message. Longer values go in several messages.
constexpr std::size_t kRequestPiece = 60 * 1024;

}  // namespace eave
