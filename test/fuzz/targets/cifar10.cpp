// A CIFAR-10 file. The first byte modulo 4 is the number of records. Unless that byte has bit 4, the target pads the
// file with zeros, or cuts it, to the length of its records. It reads the labels, then each image.
#include <algorithm>

#include "data/files/cifar10_file.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  const std::int64_t records = bytes[0] % 4;
  std::vector<std::uint8_t> labels, pixels(kCifarSide * kCifarSide * kCifarChannels);
  std::vector<std::uint8_t> content(bytes.begin() + 1, bytes.end());
  if (bytes[0] / 4 % 2 == 0) content.resize(static_cast<std::size_t>(records) * (1 + pixels.size()));
  const MemorySource file(content, "fuzzed");
  take_or_refuse([&] {
    append_cifar_labels(file, records, labels);
    if (std::ranges::any_of(labels, [](std::uint8_t label) { return label >= kCifarClasses; })) std::abort();
  });
  take_or_refuse([&] {
    for (std::int64_t record = 0; record < records; ++record) read_cifar_image(file, record, pixels);
  });
}
