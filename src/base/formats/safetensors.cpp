#include "base/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files/content_kind.h"
#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/files/user_path.h"
#include "base/hash.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytesOfStream = std::size_t{1} << 36;
constexpr std::uint64_t kHeaderLimitBytes = 100'000'000;       // the limit of the format's own library
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;  // hashed while still in the processor's cache

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

std::string_view bytes_of(const NamedArray& array) {
  return {reinterpret_cast<const char*>(array.values.data()), array.values.size_bytes()};
}

std::string hash_of_arrays(const std::vector<NamedArray>& arrays) {
  Hasher hasher;
  for (const NamedArray& array : arrays) hasher.add(bytes_of(array));
  return hasher.hash().text();
}

std::string header_text(const std::vector<NamedArray>& arrays, std::map<std::string, std::string> metadata) {
  metadata[kArraysHash] = hash_of_arrays(arrays);
  Json header = {{"__metadata__", metadata}};
  auto& entries = header.get_ref<Json::object_t&>();
  std::uint64_t offset = 0;
  for (const NamedArray& array : arrays) {
    std::uint64_t count = 1;
    for (std::int64_t extent : array.shape) count *= static_cast<std::uint64_t>(extent);
    EAVE_CHECK(count == array.values.size(), array.name + " has as many values as its shape says");
    // Not by header[…], which would compare the name with all before it.
    const Json place = {offset, offset + 4 * count};
    entries.emplace_back(array.name, Json::object({{"dtype", "F32"}, {"shape", array.shape}, {"data_offsets", place}}));
    offset += 4 * count;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

constexpr const char* kRemedy = "; get the file again, or write it anew";
constexpr const char* kRemedyOfArrays =
    "; get the file again (for a run, eave checkpoint export writes the model of its newest checkpoint), or remove the "
    "entry if the change is meant";

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw Error(ExitCode::kBadData, path.string() + ": " + why);
}

// Refuses the file with `why`, or with its kind if that is known to be another.
[[noreturn]] void refuse_header(const std::filesystem::path& path, const std::string& why) {
  const ContentKind kind = content_kind_of(path);
  if (kind.what.empty() || kind.what == kSafetensorsContent) refuse(path, why + kRemedy);
  refuse(path, describe_content(kind, kind.group == ContentGroup::kPytorch
                                          ? "load it with torch.load, and save its tensors with save_file of "
                                            "safetensors.torch"
                                          : "expected a safetensors file"));
}

// Reads exactly `size` bytes; the caller has checked `size` against the file's.
void read_exactly(std::istream& file, char* bytes, std::uint64_t size, const std::filesystem::path& path) {
  file.read(bytes, static_cast<std::streamsize>(size));
  if (!file) throw Error(ExitCode::kInputOutput, "cannot read " + path.string());
}

std::uint64_t read_header_length(std::istream& file, std::uint64_t file_size, const std::filesystem::path& path) {
  if (file_size < 8) refuse_header(path, "is cut off within its first 8 bytes");
  std::array<char, 8> bytes{};
  read_exactly(file, bytes.data(), bytes.size(), path);
  std::uint64_t length = 0;
  for (std::size_t byte = 8; byte-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[byte]);
  if (length == 0 || length > kHeaderLimitBytes || length > file_size - 8) {
    refuse_header(path, "says its header has a length of " + std::to_string(length) + ", in bytes, of a file of " +
                            std::to_string(file_size));
  }
  return length;
}

// Throws, before the arrays are read, if the entry cannot be a hash. Returns nullptr if there is no entry.
const std::string* find_hash(const SafetensorsHeader& header, const std::filesystem::path& path) {
  const auto entry = header.metadata.find(kArraysHash);
  if (entry == header.metadata.end()) return nullptr;
  constexpr std::size_t kDigits = 32;
  if (entry->second.size() != kDigits || entry->second.find_first_not_of("0123456789abcdef") != std::string::npos) {
    refuse(path, std::string("its metadata has ") + kArraysHash + " '" + entry->second.substr(0, 2 * kDigits) +
                     "', expected 32 digits of 0-9 and a-f: the file is damaged" + kRemedyOfArrays);
  }
  return &entry->second;
}

// `expected` is the hash that the bytes must have; nullptr accepts any.
void read_content(std::istream& file, char* content, std::uint64_t size, const std::string* expected,
                  const std::filesystem::path& path) {
  Hasher hasher;
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t piece = std::min(kPieceBytes, size - done);
    read_exactly(file, content + done, piece, path);
    if (expected != nullptr) hasher.add({content + done, static_cast<std::size_t>(piece)});
    done += piece;
  }
  if (expected == nullptr) return;
  const std::string found = hasher.hash().text();
  if (found == *expected) return;
  refuse(path, std::string("its arrays do not match the hash in its metadata (") + kArraysHash + " is " + *expected +
                   ", the arrays have " + found +
                   "): the file is damaged, or another program changed arrays and kept the entry" + kRemedyOfArrays);
}

std::int64_t extent_of(std::uint64_t extent) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(extent, std::numeric_limits<std::int64_t>::max()));
}

// Copies values whose offset is no multiple of 4 to aligned memory.
ConstSlice values_of(const StoredArray& array, SafetensorsFile& file) {
  const auto size = static_cast<std::size_t>((array.end - array.begin) / 4);
  if (array.begin % 4 == 0) return ConstSlice(file.content).subspan(static_cast<std::size_t>(array.begin / 4), size);
  std::vector<float>& values = file.moved.emplace_back(size);
  std::memcpy(values.data(), reinterpret_cast<const char*>(file.content.data()) + array.begin, 4 * size);
  return values;
}

// bfloat16 is the upper half of a float32.
float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 bits of fraction.
float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = bits >> 10 & 31u, fraction = bits & 1023u;
  if (exponent == 0) {  // a multiple of 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t widened = exponent == 31 ? 255 : exponent + 127 - 15;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

// Each number of 16 bits has an equal float32.
ConstSlice widened_values_of(const StoredArray& array, SafetensorsFile& file) {
  const char* const bytes = reinterpret_cast<const char*>(file.content.data()) + array.begin;
  std::vector<float>& values = file.moved.emplace_back(static_cast<std::size_t>((array.end - array.begin) / 2));
  const auto widen = array.type == "BF16" ? float_of_bf16 : float_of_f16;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes + 2 * i, 2);
    values[i] = widen(bits);
  }
  return values;
}

void take_arrays(const SafetensorsHeader& header, SafetensorsFile& file) {
  for (const StoredArray& array : header.arrays) {
    const bool is_half = array.type == "BF16" || array.type == "F16";
    if (array.type != "F32" && !is_half) {
      file.types_left_out[array.name] = array.type;
      continue;
    }
    std::vector<std::int64_t> shape;
    for (const std::uint64_t extent : array.shape) shape.push_back(extent_of(extent));
    file.arrays.push_back({array.name, shape, is_half ? widened_values_of(array, file) : values_of(array, file)});
  }
}

SafetensorsHeader read_header(const std::string& text, std::uint64_t content_size, const std::filesystem::path& path) {
  try {
    return parse_safetensors_header(text, content_size);
  } catch (const Error& failure) {
    refuse(path, failure.what() + std::string(kRemedy));
  }
}

}  // namespace

ConstSlice SafetensorsFile::array(const std::string& name, std::size_t size) const {
  for (const NamedArray& candidate : arrays) {
    if (candidate.name == name && candidate.values.size() == size) return candidate.values;
  }
  refuse(path, "holds no array '" + name + "' of " + count_text(size, "value") + "; it belongs to another run");
}

const std::string& SafetensorsFile::text(const std::string& key) const {
  const auto found = metadata.find(key);
  if (found == metadata.end()) refuse(path, "says nothing of '" + key + "'; take a file that eave wrote");
  return found->second;
}

namespace {

SafetensorsFile read_stream(std::istream& bytes, std::uint64_t file_size, const std::filesystem::path& path) {
  std::string header(read_header_length(bytes, file_size, path), ' ');
  read_exactly(bytes, header.data(), header.size(), path);
  const std::uint64_t content_size = file_size - 8 - header.size();
  // Check the header before allocating memory for the arrays.
  const SafetensorsHeader arrays = read_header(header, content_size, path);
  SafetensorsFile file;
  file.path = path;
  file.metadata = arrays.metadata;
  file.content.resize(content_size / 4 + (content_size % 4 != 0 ? 1 : 0));
  read_content(bytes, reinterpret_cast<char*>(file.content.data()), content_size, find_hash(arrays, path), path);
  take_arrays(arrays, file);
  return file;
}

}  // namespace

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  require_regular(path);
  std::error_code error;
  const std::uint64_t file_size = std::filesystem::file_size(path, error);
  if (error == std::errc::permission_denied)
    throw Error(ExitCode::kInputOutput, "cannot read " + path.string() + ": " + error.message());
  if (error)
    throw Error(ExitCode::kInputMissing,
                "no file " + path.string() + "; name a model.safetensors, or a run's directory");
  std::ifstream bytes(path, std::ios::binary);
  return read_stream(bytes, file_size, path);
}

SafetensorsFile read_named_safetensors(const std::filesystem::path& path) {
  if (kind_instead_of_file(path).empty()) return read_safetensors(path);
  const std::string content = read_named_file(path, kMostBytesOfStream);
  std::istringstream bytes(content);
  return read_stream(bytes, content.size(), path);
}

void write_safetensors(const OutputPath& path, const std::vector<NamedArray>& arrays,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(arrays, metadata);
  std::string length_bytes;
  for (std::uint64_t length = header.size(), byte = 0; byte < 8; ++byte) {
    length_bytes.push_back(static_cast<char>(length >> (8 * byte) & 0xff));
  }
  std::vector<std::string_view> pieces = {length_bytes, header};
  for (const NamedArray& array : arrays) {
    pieces.push_back(bytes_of(array));
  }
  write_file_atomically(path, pieces);
}

}  // namespace eave
