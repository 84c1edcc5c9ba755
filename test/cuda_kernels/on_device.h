// Arrays in device memory for tests. Each has a margin before and after it that must not change, so that a write past
// an end is found on a real GPU too.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "eave/slice.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

inline void must(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

// A stream that lives as long as the test.
class TestStream {
 public:
  TestStream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~TestStream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

template <class T>
class OnDevice {
 public:
  // Copies `values` to the device, `offset` elements after an address that is aligned to 256 bytes.
  OnDevice(const TestStream& stream, const std::vector<T>& values, std::size_t offset = 0)
      : stream_(&stream), size_(values.size()), before_(kMargin + offset) {
    const std::vector<unsigned char> bytes = framed(values);
    must(cudaMalloc(&memory_, bytes.size()));
    must(cudaMemcpyAsync(memory_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream));
    must(cudaStreamSynchronize(stream));
  }
  // Fills the array with 0xff bytes, which are NaN in each floating-point type.
  OnDevice(const TestStream& stream, std::size_t size, std::size_t offset = 0)
      : OnDevice(stream, filled(size), offset) {}
  ~OnDevice() { static_cast<void>(cudaFree(memory_)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* data() { return reinterpret_cast<T*>(memory_) + before_; }
  std::size_t size() const { return size_; }
  operator std::span<T>() { return {data(), size_}; }
  operator std::span<const T>() requires(!std::is_const_v<T>) { return {data(), size_}; }

  // Waits for all work enqueued on the stream and returns the array. Fails the test if a margin has changed.
  std::vector<T> read() {
    std::vector<unsigned char> bytes((before_ + size_ + kMargin) * sizeof(T));
    must(cudaMemcpyAsync(bytes.data(), memory_, bytes.size(), cudaMemcpyDeviceToHost, *stream_));
    must(cudaStreamSynchronize(*stream_));
    std::vector<T> values(size_);
    if (size_ > 0) std::memcpy(values.data(), bytes.data() + before_ * sizeof(T), size_ * sizeof(T));
    EXPECT_EQ(bytes, framed(values)) << "something was written before or after the array";
    return values;
  }

 private:
  static constexpr std::size_t kMargin = 256;  // elements

  static std::vector<T> filled(std::size_t size) {
    std::vector<T> values(size);
    if (size > 0) std::memset(static_cast<void*>(values.data()), 0xff, size * sizeof(T));
    return values;
  }
  std::vector<unsigned char> framed(const std::vector<T>& values) const {
    std::vector<unsigned char> bytes((before_ + values.size() + kMargin) * sizeof(T), 0xa5);
    if (!values.empty()) std::memcpy(bytes.data() + before_ * sizeof(T), values.data(), values.size() * sizeof(T));
    return bytes;
  }

  const TestStream* stream_;
  void* memory_ = nullptr;
  std::size_t size_, before_;
};

}  // namespace eave::cuda
