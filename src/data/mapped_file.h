// A file whose samples are picked from anywhere in it: where it is not large it is mapped, so that reading one is a
// copy, not a call of the system.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/byte_source.h"

namespace eave {

// What a mapping must not change is as with FileSource: a file that became shorter, or a disk that fails, is an error
// with a name, and the memory of a rank is not that of the data.
class MappedFile : public ByteSource {
 public:
  // Mapped pages count as this process's memory. A larger file's would have to be given back again and again, and a
  // sample that has to be mapped first takes five times as long as one that is read (bench/README.md, "How costs
  // grow").
  static constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;

  // Reads as `file` does where it is larger, or nothing can be mapped: an empty file, a file system without mappings, a
  // limit on address space (ulimit -v), somebody else's handler of SIGBUS in the place of this one's.
  explicit MappedFile(FileSource file);
  ~MappedFile() override;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  const std::string& name() const override { return file_.name(); }
  std::uint64_t size() const override { return file_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const override;
  bool is_mapped() const;  // and not found without its handler since

 private:
  class Mapping;
  FileSource file_;
  std::unique_ptr<Mapping> mapping_;  // none: all is read by file_
};

}  // namespace eave
