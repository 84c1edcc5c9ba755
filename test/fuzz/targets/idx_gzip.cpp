// A gzip'd IDX file. The input is the content to pack; if the first byte is odd, it is the gzip stream itself.
#include "data/files/idx.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  const Bytes input = bytes.subspan(1);
  const std::vector<std::uint8_t> file =
      bytes[0] % 2 == 0 ? packed(input, true) : std::vector<std::uint8_t>(input.begin(), input.end());
  const auto content = bytes[0] / 2 % 2 == 0 ? IdxContent::kImages : IdxContent::kLabels;
  take_or_refuse([&] { read_idx(MemorySource(file, "fuzzed"), content); });
}
