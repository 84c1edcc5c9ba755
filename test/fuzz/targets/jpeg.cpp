// A JPEG file: its header, then its pixels in a square.
#include "data/images/image_file.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const eave::MemorySource file({bytes, size}, "fuzzed");
  std::vector<std::uint8_t> pixels(8 * 8 * 3);
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] { eave::decode_jpeg(file, nullptr); });
  eave::take_or_refuse({eave::ExitCode::kBadData}, [&] {
    eave::SquareResizer resizer(8);
    eave::decode_jpeg(file, &resizer);
    resizer.finish(pixels);
  });
  return 0;
}
