#include "device/cuda/passes/graph_recorder.h"

#include "eave/check.h"

namespace eave::cuda {

void GraphRecorder::begin(const Key& key) {
  EAVE_CHECK(state_ == State::kIdle, "a pass begins when the last one has ended");
  pass_ = &passes_[key];
  next_ = 0;
  if (pass_->is_whole) {
    state_ = State::kReplaying;
  } else if (pass_->is_known) {
    state_ = State::kRecording;
    pass_->parts.clear();
  } else {
    state_ = State::kEnqueuing;
  }
}

void GraphRecorder::cut() {
  EAVE_CHECK(state_ != State::kIdle, "a cut is made in a pass");
  if (state_ == State::kReplaying) return launch_next();
  if (state_ == State::kEnqueuing) return;
  finish_part();
}

void GraphRecorder::end() {
  EAVE_CHECK(state_ != State::kIdle, "a pass that ends has begun");
  if (state_ == State::kReplaying) {
    launch_next();
    EAVE_CHECK(next_ == pass_->parts.size(), "passes of one kind are cut at the same places");
  } else if (state_ == State::kRecording) {
    finish_part();
    pass_->is_whole = true;
  } else {
    pass_->is_known = true;
  }
  state_ = State::kIdle;
}

void GraphRecorder::abandon() noexcept {
  if (is_capturing_) {
    cudaGraph_t graph = nullptr;
    static_cast<void>(cudaStreamEndCapture(stream_, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  }
  is_capturing_ = false;
  state_ = State::kIdle;
}

bool GraphRecorder::enqueues() {
  if (state_ == State::kRecording && !is_capturing_) {
    // Thread-local mode: other threads of the process may allocate and copy during the capture.
    EAVE_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    is_capturing_ = true;
  }
  return state_ != State::kReplaying;
}

void GraphRecorder::finish_part() {
  if (!is_capturing_) {
    pass_->parts.emplace_back();
    ++next_;
    return;
  }
  is_capturing_ = false;
  cudaGraph_t graph = nullptr;
  EAVE_CUDA(cudaStreamEndCapture(stream_, &graph));
  cudaGraphExec_t part = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&part, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check_cuda(status, "cudaGraphInstantiate");
  pass_->parts.emplace_back(part);
  launch_next();
}

void GraphRecorder::launch_next() {
  EAVE_CHECK(next_ < pass_->parts.size(), "passes of one kind are cut at the same places");
  const cudaGraphExec_t part = pass_->parts[next_++].get();
  if (part != nullptr) EAVE_CUDA(cudaGraphLaunch(part, stream_));
}

}  // namespace eave::cuda
