// Two streams, an event and an array in device memory, for tests of the emulator.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "emulator.h"

inline constexpr int kCount = 1000;
inline constexpr std::size_t kBytes = kCount * sizeof(float);

__global__ inline void add_number(float* values, int count, float number) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += number;
}

inline cudaError_t add(cudaStream_t stream, float* values, float number) {
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3((kCount + 127) / 128);
  launch.blockDim = dim3(128);
  launch.stream = stream;
  return cudaLaunchKernelEx(&launch, add_number, values, kCount, number);
}

class EmulatedCuda : public testing::Test {
 protected:
  EmulatedCuda() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&a_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&b_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&event_), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&device_, kBytes), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(&host_, kBytes), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(&result_, kBytes), cudaSuccess);
    fill_host(1);
  }
  ~EmulatedCuda() override {
    cudaFree(device_);
    cudaFreeHost(host_);
    cudaFreeHost(result_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(a_);
    cudaStreamDestroy(b_);
  }

  void fill_host(float value) { std::fill_n(host_, kCount, value); }
  void upload(cudaStream_t stream) {
    EXPECT_EQ(cudaMemcpyAsync(device_, host_, kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
  }
  void download(cudaStream_t stream) {
    EXPECT_EQ(cudaMemcpyAsync(result_, device_, kBytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  }
  float result_of(cudaStream_t stream) {
    download(stream);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return result_[kCount - 1];
  }

  cudaStream_t a_ = nullptr, b_ = nullptr;
  cudaEvent_t event_ = nullptr;
  float *device_ = nullptr, *host_ = nullptr, *result_ = nullptr;
};
