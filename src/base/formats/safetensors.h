// Reads and writes the safetensors file format: named arrays that other frameworks load without running code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/output_path.h"
#include "eave/slice.h"

namespace eave {

struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major
  ConstSlice values;                // as many as the product of shape
};

// The key of the metadata entry that holds the hash of all bytes after the header: XXH3-128, as 32 digits.
inline constexpr const char* kArraysHash = "eave_xxh3_128";

// Writes float32 arrays, text metadata and kArraysHash, atomically. Layout: header length (8 bytes, little-endian), a
// JSON header padded to a multiple of 8 bytes, the values one after another. Throws Error: kCannotCreate, kInputOutput.
void write_safetensors(const OutputPath& path, const std::vector<NamedArray>& arrays,
                       const std::map<std::string, std::string>& metadata);

// A whole file in memory. The `values` of `arrays` are views of `content`, or of `moved` if their offset is no multiple
// of 4 bytes, or if the file has them as float16 or bfloat16. Arrays of all types but these and float32 are left out
// (PyTorch's batch norms count batches).
struct SafetensorsFile {
  std::vector<float> content;
  std::vector<std::vector<float>> moved;
  std::map<std::string, std::string> types_left_out;  // key: the array's name
  std::vector<NamedArray> arrays;
  std::map<std::string, std::string> metadata;

  // Throws Error(kBadData) if there is no such array, or it has another number of values.
  ConstSlice array(const std::string& name, std::size_t size) const;
  const std::string& text(const std::string& key) const;
  std::string path;
};

// Trusts nothing. Header length, offsets, shapes, types and file size must agree before memory is allocated for them.
// Every byte must belong to one array, as the format's own library demands (parse_safetensors_header). If the metadata
// has kArraysHash, the arrays must match it; files of other programs and of older versions of eave have none. Throws
// Error: kInputMissing; kBadData, with the file and what is wrong.
SafetensorsFile read_safetensors(const std::filesystem::path& path);
// The same for a file that a person named, which may be a pipe or /dev/stdin.
SafetensorsFile read_named_safetensors(const std::filesystem::path& path);

struct StoredArray {
  std::string name;
  std::string type;  // "F32", "BF16", ...
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // offsets into the content, in bytes
};

struct SafetensorsHeader {
  std::vector<StoredArray> arrays;  // in the order of their offsets
  std::map<std::string, std::string> metadata;
};

// `text` is the header, `content_bytes` the number of bytes after it. Every byte of the content must belong to one
// array. Throws Error(kBadData) that says what is wrong, without the file's name. Takes time proportional to the text.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t content_bytes);

// Writes one array in NumPy's file format, which numpy.load reads, version 1.0: little-endian float32, row-major,
// without the name. Atomic. Throws Error: kCannotCreate, kInputOutput.
void write_npy(const OutputPath& path, const NamedArray& array);

}  // namespace eave
