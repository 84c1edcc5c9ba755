// An array of floats that is larger than its memory. Only its two ends have memory of their own. The range between them
// maps a single window of 2 MiB many times.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

#include "eave/slice.h"

namespace eave {

class MirroredFloats {
 public:
  static constexpr std::size_t kWindowBytes = std::size_t{1} << 21;
  static constexpr std::size_t kWindow = kWindowBytes / sizeof(float);

  explicit MirroredFloats(std::size_t count) : count_(count), bytes_((count / kWindow + 1) * kWindowBytes) {
    const int file = memfd_create("mirrored", 0);
    if (file < 0 || ftruncate(file, 3 * kWindowBytes) != 0) throw std::runtime_error("no memory file");
    data_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data_ == MAP_FAILED) throw std::runtime_error("no addresses");
    for (std::size_t at = 0; at < bytes_; at += kWindowBytes) {
      const off_t window = at == 0 ? 0 : at + kWindowBytes == bytes_ ? 2 * kWindowBytes : kWindowBytes;
      if (mmap(data_ + at, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, window) == MAP_FAILED)
        throw std::runtime_error("no mapping");
    }
    close(file);
  }
  MirroredFloats(const MirroredFloats&) = delete;
  MirroredFloats& operator=(const MirroredFloats&) = delete;
  ~MirroredFloats() { munmap(data_, bytes_); }

  Slice slice() { return {reinterpret_cast<float*>(data_), count_}; }

 private:
  std::size_t count_, bytes_;
  char* data_;
};

}  // namespace eave
