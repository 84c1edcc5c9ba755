// A PNG file: its header, then its pixels in a square. The target first corrects the checksums of the chunks, so that
// the code after the check is reached.
#include <zlib.h>

#include "data/images/image_file.h"
#include "test/fuzz/fuzz.h"

namespace {

std::uint32_t word_at(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

void mend_checksums(std::vector<std::uint8_t>& file) {
  for (std::size_t place = 8; place + 12 <= file.size();) {
    const std::size_t length = word_at(file.data() + place);
    if (length > file.size() - place - 12) return;
    const unsigned long sum = crc32(0, file.data() + place + 4, static_cast<uInt>(length + 4));
    place += 8 + length;
    for (const int shift : {24, 16, 8, 0}) file[place++] = static_cast<std::uint8_t>(sum >> shift);
  }
}

}  // namespace

void eave::fuzz(Bytes bytes) {
  std::vector<std::uint8_t> content(bytes.begin(), bytes.end()), pixels(8 * 8 * 3);
  mend_checksums(content);
  const MemorySource file(content, "fuzzed");
  take_or_refuse([&] { decode_png(file, nullptr); });
  take_or_refuse([&] {
    SquareResizer resizer(8);
    decode_png(file, &resizer);
    resizer.finish(pixels);
  });
}
