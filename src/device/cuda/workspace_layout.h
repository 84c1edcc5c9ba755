// Places several arrays in one slice of an arena, each at a multiple of 256 bytes, because cuBLAS and cuDNN want
// workspaces aligned so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "eave/slice.h"

namespace eave::cuda {

class WorkspaceLayout {
 public:
  static constexpr std::int64_t kAlignment = 256;  // bytes

  // Adds a piece and returns its offset, in bytes from the slice's first aligned byte.
  std::int64_t add(std::int64_t bytes) {
    const std::int64_t offset = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  // The number of floats of a slice that holds all pieces, wherever the slice begins.
  std::int64_t floats() const {
    return bytes_ == 0 ? 0 : (bytes_ + kAlignment) / static_cast<std::int64_t>(sizeof(float));
  }

 private:
  std::int64_t bytes_ = 0;
};

// The address of a piece, or nullptr if the slice is empty.
template <class T = void, class Element>
T* piece(std::span<Element> slice, std::int64_t offset) {
  if (slice.empty()) return nullptr;
  const auto alignment = static_cast<std::uintptr_t>(WorkspaceLayout::kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(slice.data());
  const std::uintptr_t aligned = (address + alignment - 1) / alignment * alignment;
  return reinterpret_cast<T*>(aligned + static_cast<std::uintptr_t>(offset));
}

}  // namespace eave::cuda
