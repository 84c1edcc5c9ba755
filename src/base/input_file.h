// A file that somebody else may have written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace eave {

// Open for reading: a plain file, no symbolic link, no device that would block. Throws Error: kInputMissing.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  std::uint64_t size() const { return size_; }
  // The next `count` bytes. Throws Error(kInputOutput), also where the file ends before.
  void read(char* into, std::uint64_t count);
  // All of it. Throws Error(kBadData) where it has more than `limit` bytes.
  std::string read_whole(std::uint64_t limit);

 private:
  const std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace eave
