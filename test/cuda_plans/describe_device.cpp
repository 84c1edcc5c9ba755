// Prints cuDNN's description of the first GPU, to be stored in devices/. Needs a GPU.
#include <cstdio>
#include <exception>

#include "device/cuda/plans/cudnn_plan.h"

int main() {
  try {
    cudnnHandle_t handle = nullptr;
    eave::cuda::check_cudnn(cudnnCreate(&handle), "cudnnCreate");
    std::printf("%s\n", eave::cuda::describe_device(handle).c_str());
    eave::cuda::check_cudnn(cudnnDestroy(handle), "cudnnDestroy");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 71;
  }
}
