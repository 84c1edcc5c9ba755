#include "report/safetensors.h"

#include <bit>

#include "base/files.h"
#include "eave/check.h"
#include "report/json.h"

namespace eave {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

std::string header_text(const std::vector<NamedArray>& arrays, const std::map<std::string, std::string>& metadata) {
  Json header = {{"__metadata__", metadata}};
  std::uint64_t offset = 0;
  for (const NamedArray& array : arrays) {
    std::uint64_t count = 1;
    for (std::int64_t extent : array.shape) count *= static_cast<std::uint64_t>(extent);
    EAVE_CHECK(count == array.values.size(), array.name + " has as many values as its shape says");
    header[array.name] = {{"dtype", "F32"}, {"shape", array.shape}, {"data_offsets", {offset, offset + 4 * count}}};
    offset += 4 * count;
  }
  std::string text = to_line(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(arrays, metadata);
  std::string content;
  for (std::uint64_t length = header.size(), byte = 0; byte < 8; ++byte) {
    content.push_back(static_cast<char>(length >> (8 * byte) & 0xff));
  }
  content += header;
  for (const NamedArray& array : arrays) {
    content.append(reinterpret_cast<const char*>(array.values.data()), array.values.size_bytes());
  }
  write_file_atomically(path, content);
}

}  // namespace eave
