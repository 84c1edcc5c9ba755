#include "base/safetensors.h"

#include <array>
#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/files.h"
#include "base/json_integer.h"
#include "base/json_nesting.h"
#include "eave/check.h"

namespace eave {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kHeaderLimitBytes = std::uint64_t{1} << 20;
constexpr std::size_t kMostDimensions = 8;

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
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw Error(ExitCode::kBadData, path.string() + ": " + why);
}

// Reads exactly `size` bytes; the caller has held them against the file's size.
void read_bytes(std::ifstream& file, char* bytes, std::uint64_t size, const std::filesystem::path& path) {
  file.read(bytes, static_cast<std::streamsize>(size));
  if (!file) throw Error(ExitCode::kInputOutput, "cannot read " + path.string());
}

std::uint64_t read_header_length(std::ifstream& file, std::uint64_t file_size, const std::filesystem::path& path) {
  if (file_size < 8) refuse(path, "is cut off within its first 8 bytes");
  std::array<char, 8> bytes{};
  read_bytes(file, bytes.data(), bytes.size(), path);
  std::uint64_t length = 0;
  for (std::size_t byte = 8; byte-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[byte]);
  if (length > kHeaderLimitBytes || length > file_size - 8) {
    refuse(path, "says its header has " + std::to_string(length) + " bytes, of a file of " + std::to_string(file_size));
  }
  return length;
}

// Number of values of an array whose place in the content of `available` bytes has been checked.
std::size_t checked_size(const Json& entry, std::uint64_t available, const std::filesystem::path& path) {
  const auto offsets = integers_in<std::uint64_t>(entry.at("data_offsets"));
  const auto shape = integers_in<std::uint64_t>(entry.at("shape"));
  if (offsets.size() != 2) refuse(path, "has an array whose place is no pair of numbers");
  if (shape.size() > kMostDimensions) refuse(path, "has an array of more than 8 dimensions");
  std::uint64_t bytes = 4;
  for (const std::uint64_t count : shape) {
    if (__builtin_mul_overflow(bytes, count, &bytes) || bytes > available) {
      refuse(path, "has an array larger than the file");
    }
  }
  const bool fits = offsets[0] <= offsets[1] && offsets[1] <= available && offsets[1] - offsets[0] == bytes;
  if (!fits || offsets[0] % 4 != 0) refuse(path, "has an array whose place does not fit its shape");
  return static_cast<std::size_t>(bytes / 4);
}

void read_arrays(const Json& header, SafetensorsFile& file) {
  const std::uint64_t available = 4 * file.content.size();
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      entry.get_to(file.metadata);
      continue;
    }
    if (entry.at("dtype") != "F32") continue;
    const std::size_t size = checked_size(entry, available, file.path);
    const auto first = integer_in<std::size_t>(entry.at("data_offsets").at(0)) / 4;
    file.arrays.push_back(
        {name, integers_in<std::int64_t>(entry.at("shape")), ConstSlice(file.content).subspan(first, size)});
  }
}

}  // namespace

ConstSlice SafetensorsFile::array(const std::string& name, std::size_t size) const {
  for (const NamedArray& candidate : arrays) {
    if (candidate.name == name && candidate.values.size() == size) return candidate.values;
  }
  refuse(path, "holds no array '" + name + "' of " + std::to_string(size) + " values; it belongs to another run");
}

const std::string& SafetensorsFile::text(const std::string& key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end()) refuse(path, "says nothing of '" + key + "'");
  return found->second;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw Error(ExitCode::kInputMissing, "no file " + path.string());
  const std::uint64_t file_size = std::filesystem::file_size(path, error);
  std::ifstream bytes(path, std::ios::binary);
  std::string header(read_header_length(bytes, file_size, path), ' ');
  read_bytes(bytes, header.data(), header.size(), path);
  const std::uint64_t content_size = file_size - 8 - header.size();
  if (content_size % 4 != 0) refuse(path, "does not hold whole float32 values");
  SafetensorsFile file;
  file.path = path;
  file.content.resize(content_size / 4);
  read_bytes(bytes, reinterpret_cast<char*>(file.content.data()), content_size, path);
  if (is_too_nested(header)) refuse(path, "has a header that nests too deep");
  try {
    read_arrays(Json::parse(header), file);
  } catch (const Json::exception& failure) {
    refuse(path, std::string("has a header that cannot be read: ") + failure.what());
  }
  return file;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(arrays, metadata);
  std::string length_bytes;
  for (std::uint64_t length = header.size(), byte = 0; byte < 8; ++byte) {
    length_bytes.push_back(static_cast<char>(length >> (8 * byte) & 0xff));
  }
  std::vector<std::string_view> pieces = {length_bytes, header};
  for (const NamedArray& array : arrays) {
    pieces.emplace_back(reinterpret_cast<const char*>(array.values.data()), array.values.size_bytes());
  }
  write_file_atomically(path, pieces);
}

}  // namespace eave
