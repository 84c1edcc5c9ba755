// A file of CIFAR-10 with as many records as its first byte says: labels, then each image.
#include <algorithm>

#include "data/cifar10_file.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const eave::MemorySource file({bytes + 1, size - 1}, "fuzzed");
  const std::int64_t records = bytes[0] % 4;
  std::vector<std::uint8_t> labels, pixels(eave::kCifarSide * eave::kCifarSide * eave::kCifarChannels);
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    eave::append_cifar_labels(file, records, labels);
    if (std::ranges::any_of(labels, [](std::uint8_t label) { return label >= eave::kCifarClasses; })) std::abort();
  });
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    for (std::int64_t record = 0; record < records; ++record) eave::read_cifar_image(file, record, pixels);
  });
  return 0;
}
