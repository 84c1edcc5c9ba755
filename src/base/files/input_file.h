// Reads files that other programs or users may have written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/files/output_path.h"

namespace eave {

// A sequence of bytes of known length.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual std::uint64_t size() = 0;
  // Reads the next `count` bytes. Throws Error(kInputOutput), also if fewer are left.
  virtual void read(char* into, std::uint64_t count) = 0;
};

// Reads up to `most` bytes; 0 only at the end. Throws Error(kInputOutput), which names `path`; if `file` is not open,
// with the errno of now.
std::size_t read_some(const Descriptor& file, char* into, std::size_t most, const std::filesystem::path& path);

// Opens a plain file for reading. Accepts no symbolic link, and no device that would block. Throws Error:
// kInputMissing; kBadData if it is another kind of file.
class InputFile final : public ByteStream {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::uint64_t size() override { return size_; }
  void read(char* into, std::uint64_t count) override;
  // Reads the whole file. Throws Error(kBadData) if it has more than `limit` bytes.
  std::string read_whole(std::uint64_t limit);

 private:
  const std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

// The next three functions are for files that eave reads under a name that it chose. Anybody may have put a pipe there,
// and a reader would wait for it.

// The kind of the thing at `path`, with its article: "a pipe (FIFO)", "a directory", "a symbolic link to a directory".
// "" if it is a regular file, a link to one, or nothing.
std::string kind_instead_of_file(const std::filesystem::path& path);

// Call before opening a file: opening alone may wait, or start a device. A missing file passes. Throws Error(kBadData):
// "PATH is no regular file but a pipe (FIFO); put the file itself in its place".
void require_regular(const std::filesystem::path& path);

// Opens for reading and does not wait. Returns -1 and sets errno if that fails. Throws as require_regular does.
// `flags`: more flags of open(2).
int open_regular(const std::filesystem::path& path, int flags = 0);

// Reads a whole file. Throws Error: kInputMissing if it is missing; kInputOutput if it cannot be read; kBadData if it
// has more than `limit_bytes` or is not a regular file.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{1} << 30);

}  // namespace eave
