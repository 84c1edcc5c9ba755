// A GPU for tests that run on a real GPU and on the emulated one. The test's build chooses the module.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda_module.h"
#include "eave/check.h"

namespace eave {

// The CUDA module, or nullptr if there is no GPU; `why` then holds the reason.
inline const CudaModule* gpu_module(std::string& why) {
  setenv("LIBEAVE_CUDA", EAVE_CUDA_MODULE, 1);
  try {
    const CudaModule& module = open_cuda_module();
    module.list_devices();
    return &module;
  } catch (const Error& error) {
    why = error.what();
    return nullptr;
  }
}

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    module_ = gpu_module(why);
    if (module_ == nullptr) GTEST_SKIP() << why;
  }
  const CudaModule* module_ = nullptr;
};

// ‖a − b‖ / ‖b‖
inline double relative_distance(ConstSlice a, ConstSlice b) {
  const double size = cpu_device().norm(b);
  return cpu_device().distance(a, b) / (size > 0 ? size : 1);
}

}  // namespace eave
