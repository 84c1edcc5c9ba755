// A file that somebody else may have written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace eave {

// Bytes that come one after another, of which there is a known number.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual std::uint64_t size() = 0;
  // The next `count` bytes. Throws Error(kInputOutput), also where they end before.
  virtual void read(char* into, std::uint64_t count) = 0;
};

// Open for reading: a plain file, no symbolic link, no device that would block. Throws Error: kInputMissing,
// kBadData if it is another kind of file.
class InputFile final : public ByteStream {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  std::uint64_t size() override { return size_; }
  void read(char* into, std::uint64_t count) override;
  // All of it. Throws Error(kBadData) where it has more than `limit` bytes.
  std::string read_whole(std::uint64_t limit);

 private:
  const std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace eave
