// Where arithmetic happens, and memory there.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "eave/slice.h"

namespace eave {

enum class DeviceKind { kCpu, kCuda };

// Owns `size` floats, zeroed, aligned to 64 bytes (to 2 MiB, with huge pages asked for, from 4 MiB up). Move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size);  // throws Error(kResource) that says how much was asked for
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::size_t size() const { return size_; }
  Slice slice() { return {data_, size_}; }
  ConstSlice slice() const { return {data_, size_}; }
  float* data() { return data_; }
  const float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace eave
