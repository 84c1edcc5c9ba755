// The IDX format of the MNIST family: big-endian header, then the values.
//   offset 0  two zero bytes, type (8 = unsigned byte), number of dimensions
//   offset 4  one 32-bit size per dimension
// Plain or gzip-compressed; the reader tells them apart by content.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/files/byte_source.h"
#include "data/files/mapped_file.h"

namespace eave {

enum class IdxContent { kLabels = 1, kImages = 3 };  // the number of dimensions

struct IdxArray {
  std::vector<std::int64_t> dimensions;
  std::vector<std::uint8_t> values;
};

// Reads the header only, and checks its sizes against the file's. A plain file must have exactly these sizes. A gzip
// file cannot hold more than 1,032 times its own size. Throws Error(kBadData) with offset, expected and found value.
std::vector<std::int64_t> read_idx_dimensions(const ByteSource& source, IdxContent content);

// Trusts nothing: checks the header in the same way, and allocates memory only as values are read, at most three times
// their size. Throws also Error(kResource) if less memory is available than the values need.
IdxArray read_idx(const ByteSource& source, IdxContent content);

// The images of a file. If the file is not compressed, they stay in the file and are read when asked for, as MappedFile
// does. Then ranks of one host share what the system has cached, and the set may be larger than memory.
class IdxImages {
 public:
  // Throws as read_idx and FileSource do.
  explicit IdxImages(FileSource source);
  const std::vector<std::int64_t>& dimensions() const { return array_.dimensions; }
  // Reads values from index `first` on. Several threads may call it at once. Throws Error: kBadData if the file has
  // become shorter, kInputOutput.
  void read(std::int64_t first, std::span<std::uint8_t> values) const;

 private:
  std::optional<MappedFile> file_;  // empty: the values are in array_
  std::uint64_t offset_ = 0;        // where the values begin in the file
  IdxArray array_;
};

}  // namespace eave
