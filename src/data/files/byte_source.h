// The source of a parser's bytes: a file, or memory in tests and fuzzers. Also says what a source holds, if that is not
// what its reader expected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/files/content_kind.h"

namespace eave {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& name() const = 0;  // the path, for messages
  virtual std::uint64_t size() const = 0;
  // Reads the bytes at `offset` into `bytes`, and returns how many were read: fewer only at the end of the source.
  // Several threads may call it at once. Throws Error(kInputOutput).
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

// Reads the file without mapping it. For data that is read once: headers, and files of one sample. For files from which
// samples are picked, use data/files/mapped_file.h.
class FileSource : public ByteSource {
 public:
  // Throws Error: kInputMissing if the file is missing or may not be read, kBadData if it is not a regular file.
  explicit FileSource(const std::filesystem::path& path);
  ~FileSource() override;
  FileSource(FileSource&& other) noexcept;
  FileSource& operator=(FileSource&&) = delete;
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return size_; }
  int descriptor() const { return descriptor_; }  // open as long as this object lives
  std::size_t read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const override;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

bool is_gzip(const ByteSource& source);

// Reads a gzip-compressed source from its beginning. It may have several members, one after another (RFC 1952), with
// zeros behind any of them. gzip(1) and Python's gzip accept the same files. Any other byte behind a member is an
// error, because it may be the rest of damaged data; gzip(1) only warns of it.
class GzipReader {
 public:
  explicit GzipReader(const ByteSource& source);  // outlives the reader
  ~GzipReader();
  // Like ByteSource::read_at, from where the last read ended. Throws Error(kBadData) if the data is damaged or cut off.
  // The checksum of a member is verified at its end.
  std::size_t read(std::span<std::uint8_t> bytes);
  // Throws Error(kBadData) unless all data was read.
  void require_end();

 private:
  bool refill();  // returns false at the end of the source
  void begin_next_member();
  [[noreturn]] void fail(const std::string& what) const;
  struct State;
  std::unique_ptr<State> state_;
};

// Like content_kind, and looks into gzip files: "a gzip file that holds an HTML page". The remedy is gunzip only if
// that may help: if the content is unknown, compressed again, or of the group that the reader wants.
ContentKind content_kind_of(const ByteSource& source, ContentGroup wanted = ContentGroup::kUnknown);

// For a reader that unpacks gzip files itself: "is an HTML page: get the file again". `remedy` is used if the kind has
// none. "" if the kind is unknown, also that of a gzip file's content.
std::string describe_unpacked(const ByteSource& source, const std::string& remedy);

}  // namespace eave
