// Captured streams and graphs of the emulator.
#include <thread>

#include "fixture.h"

namespace {

class EmulatedCapture : public EmulatedCuda {
 protected:
  void begin() { EXPECT_EQ(cudaStreamBeginCapture(a_, cudaStreamCaptureModeGlobal), cudaSuccess); }
  cudaGraphExec_t end() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return executable;
  }
};

TEST_F(EmulatedCapture, replays_what_was_captured) {
  begin();
  upload(a_);
  add(a_, device_, 2);
  download(a_);
  const cudaGraphExec_t graph = end();
  result_[0] = -1;
  for (const float value : {1.0f, 10.0f}) {
    fill_host(value);
    EXPECT_EQ(cudaGraphLaunch(graph, a_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
    EXPECT_EQ(result_[0], value + 2);
  }
  EXPECT_EQ(cudaGraphExecDestroy(graph), cudaSuccess);
}

TEST_F(EmulatedCapture, follows_events_into_other_streams) {
  begin();
  upload(a_);
  cudaEventRecord(event_, a_);
  cudaStreamWaitEvent(b_, event_);
  add(b_, device_, 2);
  cudaEvent_t joined = nullptr;
  cudaEventCreate(&joined);
  cudaEventRecord(joined, b_);
  cudaStreamWaitEvent(a_, joined);
  download(a_);
  const cudaGraphExec_t graph = end();
  cudaGraphLaunch(graph, b_);
  cudaStreamSynchronize(b_);
  EXPECT_EQ(result_[0], 3);
  cudaGraphExecDestroy(graph);
  cudaEventDestroy(joined);
}

TEST_F(EmulatedCapture, refuses_streams_that_did_not_come_back) {
  begin();
  upload(a_);
  cudaEventRecord(event_, a_);
  cudaStreamWaitEvent(b_, event_);
  add(b_, device_, 2);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaErrorStreamCaptureUnjoined);
  cudaGetLastError();
}

TEST_F(EmulatedCapture, is_lost_by_calls_that_wait_or_allocate) {
  float* memory = nullptr;
  for (const int which : {0, 1, 2}) {
    begin();
    EXPECT_EQ(which == 0   ? cudaMalloc(&memory, 4)
              : which == 1 ? cudaStreamSynchronize(a_)
                           : cudaDeviceSynchronize(),
              cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaErrorStreamCaptureInvalidated);
  }
  cudaGetLastError();
}

TEST_F(EmulatedCapture, allows_waiting_on_another_thread_with_a_mode_of_its_own) {
  EXPECT_EQ(cudaStreamBeginCapture(a_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  upload(a_);
  std::thread([&] { EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess); }).join();
  cudaGraphExecDestroy(end());
}

}  // namespace
