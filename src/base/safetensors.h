// The safetensors file format: named arrays that other frameworks load without running code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/output_path.h"
#include "eave/slice.h"

namespace eave {

struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major
  ConstSlice values;                // product of shape
};

// The entry of the metadata with the hash of all bytes behind the header: XXH3-128, as 32 digits.
inline constexpr const char* kArraysHash = "eave_xxh3_128";

// Writes float32 arrays, text metadata and kArraysHash, atomically. Layout: 8 bytes little-endian header length, a JSON
// header padded to 8 bytes, the values one after another. Throws Error: kCannotCreate, kInputOutput.
void write_safetensors(const OutputPath& path, const std::vector<NamedArray>& arrays,
                       const std::map<std::string, std::string>& metadata);

// A file read back whole. `values` of the arrays are views of `content`, or of `moved` where their place is no multiple
// of 4 bytes. Arrays of other types than float32 are left out (PyTorch's batch norms count batches).
struct SafetensorsFile {
  std::vector<float> content;
  std::vector<std::vector<float>> moved;
  std::map<std::string, std::string> types_left_out;  // name of an array to its type
  std::vector<NamedArray> arrays;
  std::map<std::string, std::string> metadata;

  // Throws Error(kBadData) when there is no such array or it has another number of values.
  ConstSlice array(const std::string& name, std::size_t size) const;
  const std::string& text(const std::string& key) const;
  std::string path;
};

// Trusts nothing: header length, offsets, shapes, types and the file's size must agree before anything is allocated for
// them, and every byte belongs to one array, as the format's own library demands (base/safetensors_header.h). If the
// metadata has kArraysHash, the arrays must match it; files of other programs and of older eaves have none. Throws
// Error: kInputMissing, kBadData naming the file and what is wrong.
SafetensorsFile read_safetensors(const std::filesystem::path& path);
// The same for a file that a person named, which may be a pipe or /dev/stdin.
SafetensorsFile read_named_safetensors(const std::filesystem::path& path);

}  // namespace eave
