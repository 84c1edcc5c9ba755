// Finds the fastest of several ways to do the same, by timing them on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "device/cuda/cuda_handles.h"

namespace eave::cuda {

// Device memory for the time of a comparison, zeroed.
class TemporaryMemory {
 public:
  TemporaryMemory(std::int64_t bytes, cudaStream_t stream);
  // At `offset` bytes.
  void* at(std::int64_t offset) const { return static_cast<char*>(memory_.get()) + offset; }

 private:
  DeviceBytes memory_;
};

// The time that a model's operations have in common for being tuned. The first may take a sixteenth of it, the next a
// sixteenth of what is left, and so on: so none is left without, however slow the first are.
class TuningBudget {
 public:
  using Clock = std::function<double()>;  // seconds

  explicit TuningBudget(double seconds = kSeconds, Clock clock = {});  // by default the steady clock

  // An operation's part, from when it is made to when it ends.
  class Share {
   public:
    explicit Share(TuningBudget& budget);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    bool is_spent() const;

   private:
    TuningBudget& budget_;
    const double begin_, seconds_;
  };

  double left() const { return left_; }
  double spent() const { return spent_; }

  static constexpr double kSeconds = 10;

 private:
  double left_, spent_ = 0;
  Clock clock_;
};

// Times the candidates of a comparison. Both throw Error if a candidate fails.
class CandidateTimer {
 public:
  virtual ~CandidateTimer() = default;
  // Milliseconds of one run, after one that loads the candidate's code.
  virtual double time_once(std::size_t candidate) = 0;
  // Milliseconds of a run among `runs` that follow one another: the median of kReplays times, after one that is not
  // timed.
  virtual double time_replays(std::size_t candidate, int runs) = 0;

  static constexpr int kReplays = 3;
};

// On a stream: `run` enqueues a candidate. Replays are those of a CUDA graph, as in training.
class StreamTimer final : public CandidateTimer {
 public:
  StreamTimer(cudaStream_t stream, std::function<void(std::size_t)> run);
  double time_once(std::size_t candidate) override;
  double time_replays(std::size_t candidate, int runs) override;

 private:
  double time(const std::function<void()>& enqueue);

  const cudaStream_t stream_;
  const std::function<void(std::size_t)> run_;
  const Event begin_, end_;
};

struct Fastest {
  std::size_t candidate = 0;
  std::size_t timed = 0;  // candidates that were timed without failing
  bool is_whole = true;   // all were tried: there was time for each
};

// The candidate, of `count`, that takes the least time. Each is timed once; the ones that take more than 1.5 times as
// long as the best are dropped; the others are timed again, with more runs the shorter they are. One that fails is
// passed over; if all fail, the first is returned. After the first candidate `is_spent` may end the comparison: then
// the best so far is returned. Blocks; not while the stream is being captured.
Fastest find_fastest(std::size_t count, CandidateTimer& timer, const std::function<bool()>& is_spent = {});

}  // namespace eave::cuda
