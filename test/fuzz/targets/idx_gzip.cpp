// A gzip'd IDX file: the input is what is in it, or (first byte odd) the gzip stream itself.
#include <zlib.h>

#include <vector>

#include "data/idx.h"
#include "test/fuzz/fuzz.h"

namespace {

std::vector<std::uint8_t> packed(std::span<const std::uint8_t> content) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 1, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::vector<std::uint8_t> bytes(deflateBound(&stream, content.size()) + 64);
  stream.next_in = const_cast<std::uint8_t*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> input(bytes + 1, size - 1);
  const std::vector<std::uint8_t> file =
      bytes[0] % 2 == 0 ? packed(input) : std::vector<std::uint8_t>(input.begin(), input.end());
  const auto content = bytes[0] / 2 % 2 == 0 ? eave::IdxContent::kImages : eave::IdxContent::kLabels;
  eave::take_or_refuse({eave::ExitCode::kBadData},
                       [&] { eave::read_idx(eave::MemorySource(file, "fuzzed"), content); });
  return 0;
}
