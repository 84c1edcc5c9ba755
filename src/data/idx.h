// The IDX format of the MNIST family: big-endian header, then the values.
//   offset 0  two zero bytes, type (8 = unsigned byte), number of dimensions
//   offset 4  one 32-bit size per dimension
// Plain or gzip'd, recognised by content.
#pragma once

#include <cstdint>
#include <vector>

#include "data/byte_source.h"

namespace eave {

enum class IdxContent { kLabels = 1, kImages = 3 };  // the number of dimensions

struct IdxArray {
  std::vector<std::int64_t> dimensions;
  std::vector<std::uint8_t> values;
};

// Believes nothing: allocates only after the header's sizes have been held against the file's. Throws Error(kBadData)
// with offset, expected and found; Error(kResource) when the machine cannot hold it.
IdxArray read_idx(const ByteSource& source, IdxContent content);

}  // namespace eave
