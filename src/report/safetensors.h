// The safetensors file format: named arrays that other frameworks load without running code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "eave/slice.h"

namespace eave {

struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major
  ConstSlice values;                // product of shape
};

// Writes float32 arrays and text metadata, atomically. Layout: 8 bytes little-endian header length, a JSON header
// padded to 8 bytes, the values one after another. Throws Error: kCannotCreate, kInputOutput.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::map<std::string, std::string>& metadata);

}  // namespace eave
