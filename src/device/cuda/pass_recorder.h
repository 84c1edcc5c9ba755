// Passes as CUDA graphs: the first of a kind is enqueued call by call, the second is recorded, all later ones are
// replayed, which costs the host one launch for each part between two cuts, whatever the number of kernels.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "device/cuda/cuda_handles.h"
#include "eave/compute.h"

namespace eave::cuda {

class PassRecorder {
 public:
  // What is recorded holds for one kind of pass on the same images.
  using Key = std::pair<PassKind, const DeviceImages*>;

  explicit PassRecorder(cudaStream_t stream) : stream_(stream) {}

  void begin(const Key& key);
  // Asked for before each call: whether it is to be enqueued. False: it is in a graph already.
  bool enqueues();
  // Whether memory may be had: nothing is being recorded.
  bool allocates() const { return state_ != State::kRecording; }
  void cut();
  void end();
  // Memory that recorded passes use has moved. Between passes.
  void forget() noexcept { passes_.clear(); }
  // After an exception in the middle of a pass: the stream takes calls again, and nothing is kept of it.
  void abandon() noexcept;

 private:
  enum class State { kIdle, kEnqueuing, kRecording, kReplaying };
  struct Recorded {
    std::vector<RecordedGraph> parts;  // an empty one where nothing was called between two cuts
    bool is_known = false;             // enqueued once: the libraries have loaded what they need
    bool is_whole = false;
  };

  void finish_part();
  void launch_next();

  cudaStream_t stream_;
  std::map<Key, Recorded> passes_;
  Recorded* pass_ = nullptr;
  std::size_t next_ = 0;  // part to be replayed
  State state_ = State::kIdle;
  bool is_capturing_ = false;  // from a part's first call on: what others enqueue between parts is no part of one
};

}  // namespace eave::cuda
