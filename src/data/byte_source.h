// Where a parser's bytes come from: a file, or memory (tests, fuzzers).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace eave {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& name() const = 0;  // for messages: the path
  virtual std::uint64_t size() const = 0;
  // Fills `bytes` with what stands at `offset` and returns how many there were: fewer only at the end. May be called
  // from several threads at once. Throws Error(kInputOutput).
  virtual std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const = 0;
};

class MemorySource : public ByteSource {
 public:
  // `bytes` outlives the source.
  MemorySource(std::span<const std::uint8_t> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const override;

 private:
  std::span<const std::uint8_t> bytes_;
  std::string name_;
};

// Reads, and does not map: for what is read once, as headers are, and files of one sample. Samples that are picked from
// a file have data/mapped_file.h.
class FileSource : public ByteSource {
 public:
  // Throws Error: kInputMissing when it is not there or may not be read, kBadData when it is no regular file.
  explicit FileSource(const std::filesystem::path& path);
  ~FileSource() override;
  FileSource(FileSource&& other) noexcept;
  FileSource& operator=(FileSource&&) = delete;
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return size_; }
  int descriptor() const { return descriptor_; }  // open as long as this is there
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const override;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace eave
