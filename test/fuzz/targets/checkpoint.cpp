// The header of a rank's file in a checkpoint. If the first byte is even, the target corrects the header's length
// field.
#include <cstring>

#include "checkpoint/checkpoint_format.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  constexpr std::size_t kHeaderBytesAt = 16, kFileBytesAt = 24, kPrelude = 32;
  if (bytes.empty()) return;
  std::string header = text_of(bytes.subspan(1));
  std::uint64_t file_bytes = header.size();
  if (header.size() >= kPrelude) {
    const std::uint64_t length = header.size();
    if (bytes[0] % 2 == 0) std::memcpy(header.data() + kHeaderBytesAt, &length, sizeof length);
    std::memcpy(&file_bytes, header.data() + kFileBytesAt, sizeof file_bytes);
  }
  take_or_refuse([&] {
    const CheckpointHeader read = parse_checkpoint_header(header, file_bytes);
    std::uint64_t left = file_bytes / sizeof(float);
    for (const CheckpointVector& vector : read.vectors) {
      if (vector.size > left || !is_plain_name(vector.name)) std::abort();
      left -= vector.size;
    }
    if (read.rank < 0 || read.rank >= read.ranks) std::abort();
  });
}
