// The IDX format of the MNIST family: big-endian header, then the values.
//   offset 0  two zero bytes, type (8 = unsigned byte), number of dimensions
//   offset 4  one 32-bit size per dimension
// Plain or gzip'd, recognised by content.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/byte_source.h"
#include "data/mapped_file.h"

namespace eave {

enum class IdxContent { kLabels = 1, kImages = 3 };  // the number of dimensions

struct IdxArray {
  std::vector<std::int64_t> dimensions;
  std::vector<std::uint8_t> values;
};

// Reads the header alone, and holds its sizes against the file's: a plain file must have them, and no gzip file holds
// more than 1,032 times its own size. Throws Error(kBadData) with offset, expected and found.
std::vector<std::int64_t> read_idx_dimensions(const ByteSource& source, IdxContent content);

// Believes nothing: checks the header in the same way, and takes memory only for values that have been read, at most
// three times as much. Throws also Error(kResource) when less is available than the values need.
IdxArray read_idx(const ByteSource& source, IdxContent content);

// The images of a file. Of one that is not packed they stay there, and are read when they are asked for (as
// MappedFile does): ranks of one host share what the system has cached, and the set may be larger than memory.
class IdxImages {
 public:
  // Throws as read_idx, and as FileSource.
  explicit IdxImages(FileSource source);
  const std::vector<std::int64_t>& dimensions() const { return array_.dimensions; }
  // From value `first` on. From several threads at once. Throws Error(kBadData) where the file has become shorter,
  // kInputOutput.
  void read(std::int64_t first, std::span<std::uint8_t> values) const;

 private:
  std::optional<MappedFile> file_;  // none: the values are in array_
  std::uint64_t offset_ = 0;        // of the values in the file
  IdxArray array_;
};

}  // namespace eave
