#include "report/safetensors.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/files.h"
#include "eave/check.h"
#include "report/json.h"

namespace eave {
namespace {

constexpr std::uint64_t kHeaderLimitBytes = std::uint64_t{1} << 20;
constexpr std::size_t kFileLimitBytes = std::size_t{1} << 36;

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

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw Error(ExitCode::kBadData, path.string() + ": " + why);
}

std::uint64_t header_length(const std::string& bytes, const std::filesystem::path& path) {
  if (bytes.size() < 8) refuse(path, "is cut off within its first 8 bytes");
  std::uint64_t length = 0;
  for (std::size_t byte = 8; byte-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[byte]);
  if (length > kHeaderLimitBytes || length > bytes.size() - 8) {
    refuse(path,
           "says its header has " + std::to_string(length) + " bytes, of a file of " + std::to_string(bytes.size()));
  }
  return length;
}

// Number of values of an array whose place in the content of `available` bytes has been checked.
std::size_t checked_size(const Json& entry, std::uint64_t available, const std::filesystem::path& path) {
  const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  std::uint64_t bytes = 4;
  for (const Json& extent : entry.at("shape")) {
    const auto count = extent.get<std::uint64_t>();
    if (count > available || bytes > available) refuse(path, "has an array larger than the file");
    bytes *= count;
  }
  const bool fits = offsets[0] <= offsets[1] && offsets[1] <= available && offsets[1] - offsets[0] == bytes;
  if (!fits || offsets[0] % 4 != 0 || entry.at("dtype") != "F32")
    refuse(path, "has an array whose place does not fit its shape");
  return static_cast<std::size_t>(bytes / 4);
}

void read_arrays(const Json& header, SafetensorsFile& file) {
  const std::uint64_t available = 4 * file.content.size();
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      entry.get_to(file.metadata);
      continue;
    }
    const std::size_t size = checked_size(entry, available, file.path);
    const auto first = entry.at("data_offsets").at(0).get<std::size_t>() / 4;
    file.arrays.push_back(
        {name, entry.at("shape").get<std::vector<std::int64_t>>(), ConstSlice(file.content).subspan(first, size)});
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
  const std::string bytes = read_file(path, kFileLimitBytes);
  const std::uint64_t length = header_length(bytes, path);
  const std::size_t start = 8 + length;
  if ((bytes.size() - start) % 4 != 0) refuse(path, "does not hold whole float32 values");
  SafetensorsFile file;
  file.path = path;
  file.content.resize((bytes.size() - start) / 4);
  std::memcpy(file.content.data(), bytes.data() + start, bytes.size() - start);
  try {
    read_arrays(Json::parse(bytes.begin() + 8, bytes.begin() + static_cast<std::ptrdiff_t>(start)), file);
  } catch (const Json::exception& error) {
    refuse(path, std::string("has a header that cannot be read: ") + error.what());
  }
  return file;
}

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
