// The file exchanges.order. If the first byte is even, the target packs the order and writes its checksum, so that the
// code after the check is reached.
#include <zlib.h>

#include "communicator/center/exchange_log.h"
#include "test/fuzz/fuzz.h"

namespace {

// Makes a valid file from `input`: the header's text with "@" in place of the checksum, then the order, not yet packed.
std::string made_right(const std::string& input) {
  const std::size_t first = input.find('\n'), second = first == std::string::npos ? first : input.find('\n', first + 1);
  if (second == std::string::npos) return input;
  std::string head = input.substr(0, second + 1);
  const std::string order = input.substr(second + 1);
  if (const std::size_t at = head.find('@'); at != std::string::npos) {
    head.replace(at, 1, std::to_string(crc32_z(0, reinterpret_cast<const Bytef*>(order.data()), order.size())));
  }
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(order.data());
  const std::vector<std::uint8_t> packed = eave::packed({bytes, order.size()}, false);
  return head.append(packed.begin(), packed.end());
}

}  // namespace

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  std::string file = text_of(bytes.subspan(1));
  if (bytes[0] % 2 == 0) file = made_right(file);
  take_or_refuse([&] {
    read_exchange_log(file_of({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}));
  });
}
