#include <bit>
#include <string>

#include "base/files/output_file.h"
#include "base/formats/safetensors.h"
#include "eave/check.h"

namespace eave {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr std::size_t kAlignment = 64;  // of the values in the file, in bytes

// Writes a shape as Python writes tuples: "(3, 4)", "(3,)" and "()".
std::string tuple_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

std::string header_of(const std::vector<std::int64_t>& shape) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + tuple_of(shape) + ", }";
  std::string magic("\x93NUMPY\x01\x00", 8);
  const std::size_t before = magic.size() + 2, end = before + header.size() + 1;
  header.append((end + kAlignment - 1) / kAlignment * kAlignment - end, ' ');
  header += '\n';
  EAVE_CHECK(header.size() <= 0xffff, "a header of format 1.0 has at most 65535 bytes");
  magic.push_back(static_cast<char>(header.size() & 0xff));
  magic.push_back(static_cast<char>(header.size() >> 8));
  return magic + header;
}

}  // namespace

void write_npy(const OutputPath& path, const NamedArray& array) {
  const std::string header = header_of(array.shape);
  write_file_atomically(path,
                        {header, {reinterpret_cast<const char*>(array.values.data()), array.values.size_bytes()}});
}

}  // namespace eave
