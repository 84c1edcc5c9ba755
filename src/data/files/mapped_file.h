// A file from which samples are read at random. A file that is not large is mapped, so that reading a sample is a copy
// and not a system call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/files/byte_source.h"

namespace eave {

// Behaves like FileSource: if the file becomes shorter or the disk fails, reading throws an Error with the file's name.
// A rank's memory does not grow with the data either, because large files are not mapped.
class MappedFile : public ByteSource {
 public:
  // The largest file that is mapped, in bytes. Mapped pages count as this process's memory, so those of a larger file
  // would have to be returned again and again. A sample that must be mapped first takes five times as long as one that
  // is read (bench/README.md, "How costs grow").
  static constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;

  // Reads through `file` instead if it is larger than kLargest, or if it cannot be mapped. The latter is so for an
  // empty file, a file system without mappings, a limit on address space (ulimit -v), and if other code has replaced
  // the SIGBUS handler that guards the copies.
  explicit MappedFile(FileSource file);
  ~MappedFile() override;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  const std::string& name() const override { return file_.name(); }
  std::uint64_t size() const override { return file_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const override;
  bool is_mapped() const;  // false once the SIGBUS handler was found replaced

 private:
  class Mapping;
  FileSource file_;
  std::unique_ptr<Mapping> mapping_;  // nullptr: all reads go to file_
};

}  // namespace eave
