// Programs such as PyTorch capture graphs while threads of eave look whether the device has come to an event.
#include <gtest/gtest.h>

#include <thread>

#include "device/cuda/cuda_handles.h"

namespace eave::cuda {
namespace {

TEST(CaptureOfAProgram, is_not_disturbed_by_a_thread_that_looks_at_events) {
  const Stream captured = make_stream(), other = make_stream();
  const Event event = make_event();
  EAVE_CUDA(cudaEventRecord(event.get(), other.get()));
  EAVE_CUDA(cudaStreamSynchronize(other.get()));
  EAVE_CUDA(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread([&] {
    EXPECT_TRUE(is_reached(event.get()));
    EXPECT_NO_THROW(await(event.get()));
    cudaThreadExchangeStreamCaptureMode(&mode);
  }).join();
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal) << "it was not put back";
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(captured.get(), &graph), cudaSuccess);
  EAVE_CUDA(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace eave::cuda
