// A gzip'd IDX file. The input is the content to pack; if the first byte is odd, it is the gzip stream itself.
#include "data/files/idx.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> input(bytes + 1, size - 1);
  const std::vector<std::uint8_t> file =
      bytes[0] % 2 == 0 ? eave::packed(input, true) : std::vector<std::uint8_t>(input.begin(), input.end());
  const auto content = bytes[0] / 2 % 2 == 0 ? eave::IdxContent::kImages : eave::IdxContent::kLabels;
  eave::take_or_refuse({eave::ExitCode::kBadData},
                       [&] { eave::read_idx(eave::MemorySource(file, "fuzzed"), content); });
  return 0;
}
