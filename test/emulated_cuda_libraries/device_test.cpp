// Tests of CudaDevice on the emulator.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "device/cuda/cuda_device.h"

namespace eave::cuda {
namespace {

// A driver may freeze if it allocates memory while NCCL runs.
TEST(CudaDevice, answers_of_steps_in_flight_take_no_new_memory) {
  CudaDevice device(0);
  Buffer parameters = device.allocate(100), gradients = device.allocate(100);
  std::vector<std::shared_ptr<DeviceAnswer>> answers;
  setenv("EMULATED_CUDA_FAIL", "cudaMallocHost:1:2,cudaMalloc:1:2", 1);
  for (int step = 0; step < 8; ++step)
    answers.push_back(device.update_sgd(parameters.slice(), gradients.slice(), {}, {.step_scale = 0.1f}, nullptr));
  for (const auto& answer : answers) EXPECT_TRUE(answer->get());
  unsetenv("EMULATED_CUDA_FAIL");
}

}  // namespace
}  // namespace eave::cuda
