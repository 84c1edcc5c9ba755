// Finds the fastest of several ways to compute the same result, by timing them on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "device/cuda/cuda_handles.h"

namespace eave::cuda {

// Zeroed device memory that lives as long as one comparison.
class TemporaryMemory {
 public:
  TemporaryMemory(std::int64_t bytes, cudaStream_t stream);
  // The address `offset` bytes from the beginning.
  void* at(std::int64_t offset) const { return static_cast<char*>(memory_.get()) + offset; }

 private:
  DeviceBytes memory_;
};

// The tuning time that all operations of a model share. Each operation may take a sixteenth of what is left. So some
// time remains for every operation, however slow the first ones are.
class TuningBudget {
 public:
  using Clock = std::function<double()>;  // returns seconds

  explicit TuningBudget(double seconds = kSeconds, Clock clock = {});  // an empty `clock` means the steady clock

  // One operation's share of the time. It runs from construction to destruction.
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

// Times the candidates of a comparison. Both functions throw Error if the candidate fails.
class CandidateTimer {
 public:
  virtual ~CandidateTimer() = default;
  // Milliseconds of one run. An untimed run before it loads the candidate's code.
  virtual double time_once(std::size_t candidate) = 0;
  // Milliseconds per run when `runs` runs follow one another: the median of kReplays measurements, after one that is
  // not timed.
  virtual double time_replays(std::size_t candidate, int runs) = 0;

  static constexpr int kReplays = 3;
};

// Times candidates on a stream. `run` enqueues one candidate. Replays launch a CUDA graph, as training does.
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
  bool is_whole = true;   // false if time ran out before every candidate was tried
};

// Returns the fastest of `count` candidates:
// - Each candidate is timed once.
// - Candidates that take more than 1.5 times as long as the best are dropped.
// - The remaining ones are timed again; the shorter a run is, the more runs are timed.
//
// A candidate that fails is skipped. If all fail, the result is candidate 0. After the first candidate, `is_spent` may
// end the comparison, and the best so far is returned. Blocks. Must not be called while the stream is being captured.
Fastest find_fastest(std::size_t count, CandidateTimer& timer, const std::function<bool()>& is_spent = {});

}  // namespace eave::cuda
