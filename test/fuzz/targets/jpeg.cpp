// A JPEG file: its header, then its pixels in a square.
#include "data/images/image_file.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  const MemorySource file(bytes, "fuzzed");
  std::vector<std::uint8_t> pixels(8 * 8 * 3);
  take_or_refuse([&] { decode_jpeg(file, nullptr); });
  take_or_refuse([&] {
    SquareResizer resizer(8);
    decode_jpeg(file, &resizer);
    resizer.finish(pixels);
  });
}
