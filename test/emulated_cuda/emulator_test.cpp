// Tests of the emulator: it computes what a GPU would, and it exposes mistakes that a GPU mostly forgives.
#include "emulator.h"

#include <cuda_bf16.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "fixture.h"

namespace {

__global__ void write_number(float* value, float number) { *value = number; }

// Each block reverses its values.
__global__ void turn_around(float* values) {
  __shared__ float block[128];
  block[threadIdx.x] = values[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  values[blockIdx.x * 128 + threadIdx.x] = block[127 - threadIdx.x];
}

// A faulty kernel: __syncthreads is missing between the write and the read.
__global__ void read_what_a_later_thread_writes(float* values) {
  __shared__ float block[128];
  block[threadIdx.x] = values[threadIdx.x];
  values[threadIdx.x] = block[127 - threadIdx.x];
}

__global__ void leave_some_waiting() {
  if (threadIdx.x < 3) __syncthreads();
}

TEST_F(EmulatedCuda, runs_nothing_until_somebody_waits) {
  const long long before = eave::emulated_cuda::operations_run();
  upload(a_);
  add(a_, device_, 2);
  EXPECT_EQ(eave::emulated_cuda::operations_run(), before);
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(eave::emulated_cuda::operations_run(), before);
  EXPECT_EQ(result_of(a_), 3);
}

TEST_F(EmulatedCuda, shows_that_an_event_is_missing) {
  upload(a_);
  add(a_, device_, 2);
  EXPECT_TRUE(std::isnan(result_of(b_)));
}

TEST_F(EmulatedCuda, orders_streams_by_events) {
  upload(a_);
  add(a_, device_, 2);
  EXPECT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  add(a_, device_, 100);  // after the event, so nobody waits for it
  EXPECT_EQ(cudaStreamWaitEvent(b_, event_), cudaSuccess);
  EXPECT_EQ(result_of(b_), 3);
  EXPECT_EQ(result_of(a_), 103);
}

TEST_F(EmulatedCuda, shows_that_pinned_memory_was_used_again_too_early) {
  upload(a_);
  fill_host(50);
  EXPECT_EQ(result_of(a_), 50);
}

TEST_F(EmulatedCuda, reads_pageable_memory_at_once) {
  std::vector<float> pageable(kCount, 4);
  EXPECT_EQ(cudaMemcpyAsync(device_, pageable.data(), kBytes, cudaMemcpyHostToDevice, a_), cudaSuccess);
  std::ranges::fill(pageable, 5.0f);
  EXPECT_EQ(result_of(a_), 4);
  EXPECT_EQ(cudaMemcpyAsync(pageable.data(), device_, kBytes, cudaMemcpyDeviceToHost, a_), cudaSuccess);
  EXPECT_EQ(pageable[3], 4);
}

TEST_F(EmulatedCuda, says_not_ready_once) {
  upload(a_);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);  // never recorded
  EXPECT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(EmulatedCuda, keeps_the_host_out_of_device_memory) {
  upload(a_);
  EXPECT_EQ(result_of(a_), 1);
  EXPECT_DEATH(std::printf("%f\n", static_cast<double>(device_[0])), "");
}

TEST_F(EmulatedCuda, keeps_everybody_out_of_freed_memory) {
  float *freed = nullptr, *again = nullptr;
  cudaMalloc(&freed, kBytes);
  cudaFree(freed);
  EXPECT_DEATH(
      {
        add(a_, freed, 1);
        cudaStreamSynchronize(a_);
      },
      "");
  cudaMalloc(&again, kBytes);
  EXPECT_NE(again, freed);
  cudaFree(again);
}

TEST_F(EmulatedCuda, finds_writes_past_the_end) {
  cudaLaunchConfig_t launch = {};
  EXPECT_DEATH(
      {
        float* small = nullptr;
        cudaMalloc(&small, kBytes - 4);
        cudaLaunchKernelEx(&launch, write_number, small + kCount - 1, 1.0f);
        cudaFree(small);
      },
      "something was written 3996 bytes from the begin of an allocation of 3996");
}

TEST_F(EmulatedCuda, runs_blocks_whose_threads_wait_for_each_other) {
  for (int i = 0; i < kCount; ++i) host_[i] = static_cast<float>(i);
  upload(a_);
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(7);
  launch.blockDim = dim3(128);
  launch.stream = a_;
  EXPECT_EQ(cudaLaunchKernelEx(&launch, turn_around, device_), cudaSuccess);
  result_of(a_);
  EXPECT_EQ(result_[0], 127);
  EXPECT_EQ(result_[130], 253);
  EXPECT_EQ(result_[kCount - 1], kCount - 1);
}

TEST_F(EmulatedCuda, shows_that_threads_did_not_wait_for_each_other) {
  upload(a_);
  cudaLaunchConfig_t launch = {};
  launch.blockDim = dim3(128);
  launch.stream = a_;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cudaLaunchKernelEx(&launch, read_what_a_later_thread_writes, device_), cudaSuccess);
    result_of(a_);
    EXPECT_TRUE(std::any_of(result_, result_ + 128, [](float value) { return std::isnan(value); }));
  }
}

TEST_F(EmulatedCuda, stops_where_some_threads_wait_and_others_have_ended) {
  cudaLaunchConfig_t launch = {};
  launch.blockDim = dim3(5);
  launch.stream = a_;
  EXPECT_DEATH(
      {
        cudaLaunchKernelEx(&launch, leave_some_waiting);
        cudaStreamSynchronize(a_);
      },
      "3 threads of a block wait in __syncthreads, 2 have ended");
}

TEST_F(EmulatedCuda, refuses_launches_that_fit_no_gpu) {
  cudaLaunchConfig_t launch = {};
  launch.blockDim = dim3(2048);
  EXPECT_EQ(cudaLaunchKernelEx(&launch, leave_some_waiting), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaMemcpyAsync(device_, host_, kBytes + 4, cudaMemcpyHostToDevice, a_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(device_, host_, kBytes, cudaMemcpyDeviceToHost, a_), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_F(EmulatedCuda, has_the_devices_and_memory_it_is_told) {
  int count = 7;
  unsetenv("CUDA_VISIBLE_DEVICES");
  setenv("EMULATED_CUDA_DEVICES", "-1", 1);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  EXPECT_EQ(count, 7);
  setenv("EMULATED_CUDA_DEVICES", "3", 1);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
  unsetenv("EMULATED_CUDA_DEVICES");
  setenv("EMULATED_CUDA_MEMORY", "100000", 1);
  std::size_t free_bytes = 0, total_bytes = 0;
  EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  EXPECT_EQ(total_bytes, 100000u);
  EXPECT_EQ(free_bytes, 100000u - kBytes);
  float* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, free_bytes + 1), cudaErrorMemoryAllocation);
  unsetenv("EMULATED_CUDA_MEMORY");
  cudaGetLastError();
}

TEST_F(EmulatedCuda, shows_the_devices_that_are_visible) {
  setenv("EMULATED_CUDA_DEVICES", "3", 1);
  setenv("CUDA_VISIBLE_DEVICES", "2,0,NoDevFiles,1", 1);
  int count = 7;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  cudaDeviceProp properties{};
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.uuid.bytes[15], 2);
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  unsetenv("EMULATED_CUDA_DEVICES");
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  cudaGetLastError();
}

TEST_F(EmulatedCuda, fails_on_demand) {
  setenv("EMULATED_CUDA_FAIL", "cudaEventRecord:2:719,cudaLaunchKernel:1:700", 1);
  EXPECT_EQ(cudaEventRecord(event_, a_), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_, a_), cudaErrorLaunchFailure);
  EXPECT_EQ(add(a_, device_, 1), cudaErrorIllegalAddress);
  unsetenv("EMULATED_CUDA_FAIL");
  cudaGetLastError();
}

TEST(EmulatedThreads, may_use_devices_at_the_same_time) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([rank] {
      cudaStream_t stream = nullptr;
      float* memory = nullptr;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      cudaMalloc(&memory, kBytes);
      cudaMemsetAsync(memory, 0, kBytes, stream);
      for (int i = 0; i < 20; ++i) add(stream, memory, static_cast<float>(rank));
      std::vector<float> result(kCount);
      cudaMemcpyAsync(result.data(), memory, kBytes, cudaMemcpyDeviceToHost, stream);
      EXPECT_EQ(result[500], static_cast<float>(20 * rank));
      cudaFree(memory);
      cudaStreamDestroy(stream);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(EmulatedHalf, rounds_to_nearest_even) {
  EXPECT_EQ(__float2bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(__float2bfloat16(1.00390625f).bits, 0x3f80);  // halfway between two: rounds to the even one
  EXPECT_EQ(__float2bfloat16(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(__float2bfloat16(std::nanf("")).bits, 0x7fff);
  EXPECT_EQ(__float2bfloat16(3.4e38f).bits, 0x7f80);  // infinity
}

}  // namespace
