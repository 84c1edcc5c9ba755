// Reads files that other programs or users may have written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace eave {

// A sequence of bytes of known length.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual std::uint64_t size() = 0;
  // Reads the next `count` bytes. Throws Error(kInputOutput), also if fewer are left.
  virtual void read(char* into, std::uint64_t count) = 0;
};

// Opens a plain file for reading. Accepts no symbolic link, and no device that would block. Throws Error:
// kInputMissing; kBadData if it is another kind of file.
class InputFile final : public ByteStream {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  std::uint64_t size() override { return size_; }
  void read(char* into, std::uint64_t count) override;
  // Reads the whole file. Throws Error(kBadData) if it has more than `limit` bytes.
  std::string read_whole(std::uint64_t limit);

 private:
  const std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace eave
