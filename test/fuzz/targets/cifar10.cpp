// A CIFAR-10 file. The first byte modulo 4 is the number of records. Unless that byte has bit 4, the target pads the
// file with zeros, or cuts it, to the length of its records. It reads the labels, then each image.
#include <algorithm>

#include "data/files/cifar10_file.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::int64_t records = bytes[0] % 4;
  std::vector<std::uint8_t> labels, pixels(eave::kCifarSide * eave::kCifarSide * eave::kCifarChannels);
  std::vector<std::uint8_t> content(bytes + 1, bytes + size);
  if (bytes[0] / 4 % 2 == 0) content.resize(static_cast<std::size_t>(records) * (1 + pixels.size()));
  const eave::MemorySource file(content, "fuzzed");
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    eave::append_cifar_labels(file, records, labels);
    if (std::ranges::any_of(labels, [](std::uint8_t label) { return label >= eave::kCifarClasses; })) std::abort();
  });
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    for (std::int64_t record = 0; record < records; ++record) eave::read_cifar_image(file, record, pixels);
  });
  return 0;
}
