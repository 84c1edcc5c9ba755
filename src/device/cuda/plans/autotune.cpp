#include "device/cuda/plans/autotune.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <vector>

#include "device/cuda/cuda_handles.h"
#include "eave/check.h"

namespace eave::cuda {
namespace {

constexpr double kShare = 1.0 / 16;
constexpr double kDropFrom = 1.5;   // times the best time
constexpr double kLaunchMs = 0.02;  // error of one run's time: launches, and the events between them
constexpr double kReplayMs = 1;     // length of one replay; three are timed
constexpr int kMostRuns = 20;       // runs in one replay: many operations take less time than a launch
constexpr double kFailed = std::numeric_limits<double>::infinity();

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Event make_timer() {
  cudaEvent_t event = nullptr;
  EAVE_CUDA(cudaEventCreate(&event));
  return Event(event);
}

RecordedGraph record(cudaStream_t stream, int runs, const std::function<void()>& run) {
  cudaGraph_t graph = nullptr;
  EAVE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    for (int i = 0; i < runs; ++i) run();
  } catch (...) {
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  EAVE_CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t replay = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&replay, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check_cuda(made, "cudaGraphInstantiate");
  return RecordedGraph(replay);
}

// Returns kFailed instead of throwing: a refused candidate is no failure. If the device is lost, the next call reports
// it.
template <class Time>
double time_or_failed(const Time& time) {
  try {
    return time();
  } catch (const Error&) {
    static_cast<void>(cudaGetLastError());
    return kFailed;
  }
}

std::vector<std::size_t> by_time(const std::vector<double>& times) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i] != kFailed) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return times[i]; });
  return order;
}

}  // namespace

TemporaryMemory::TemporaryMemory(std::int64_t bytes, cudaStream_t stream)
    : memory_(device_bytes(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)))) {
  EAVE_CUDA(cudaMemsetAsync(memory_.get(), 0, static_cast<std::size_t>(bytes), stream));
}

TuningBudget::TuningBudget(double seconds, Clock clock)
    : left_(seconds), clock_(clock ? std::move(clock) : Clock(steady_seconds)) {}

TuningBudget::Share::Share(TuningBudget& budget)
    : budget_(budget), begin_(budget.clock_()), seconds_(budget.left_ * kShare) {}

TuningBudget::Share::~Share() {
  const double seconds = budget_.clock_() - begin_;
  budget_.spent_ += seconds;
  budget_.left_ = std::max(0.0, budget_.left_ - seconds);
}

bool TuningBudget::Share::is_spent() const { return budget_.clock_() - begin_ >= seconds_; }

StreamTimer::StreamTimer(cudaStream_t stream, std::function<void(std::size_t)> run)
    : stream_(stream), run_(std::move(run)), begin_(make_timer()), end_(make_timer()) {}

double StreamTimer::time(const std::function<void()>& enqueue) {
  EAVE_CUDA(cudaEventRecord(begin_.get(), stream_));
  enqueue();
  EAVE_CUDA(cudaEventRecord(end_.get(), stream_));
  EAVE_CUDA(cudaEventSynchronize(end_.get()));
  float milliseconds = 0;
  EAVE_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  return static_cast<double>(milliseconds);
}

double StreamTimer::time_once(std::size_t candidate) {
  run_(candidate);
  EAVE_CUDA(cudaStreamSynchronize(stream_));
  return time([&] { run_(candidate); });
}

double StreamTimer::time_replays(std::size_t candidate, int runs) {
  const RecordedGraph replay = record(stream_, runs, [&] { run_(candidate); });
  EAVE_CUDA(cudaGraphLaunch(replay.get(), stream_));
  std::array<double, kReplays> times{};
  for (double& each : times) each = time([&] { EAVE_CUDA(cudaGraphLaunch(replay.get(), stream_)); });
  std::ranges::nth_element(times, times.begin() + kReplays / 2);
  return times[kReplays / 2] / runs;
}

Fastest find_fastest(std::size_t count, CandidateTimer& timer, const std::function<bool()>& is_spent) {
  Fastest found;
  if (count < 2) return found;
  const auto ends = [&] { return is_spent && is_spent(); };
  std::vector<double> once(count, kFailed), replayed(count, kFailed);
  for (std::size_t i = 0; i < count && found.is_whole; ++i) {
    found.is_whole = i == 0 || !ends();
    if (found.is_whole) once[i] = time_or_failed([&] { return timer.time_once(i); });
  }
  const std::vector<std::size_t> order = by_time(once);
  found.timed = order.size();
  if (order.empty()) return found;
  found.candidate = order.front();
  const double kept = kDropFrom * once[order.front()] + kLaunchMs;
  if (order.size() < 2 || once[order[1]] > kept) return found;
  for (const std::size_t i : order) {
    if (once[i] > kept || ends()) break;
    const int runs = static_cast<int>(std::clamp(kReplayMs / std::max(once[i], 1e-6), 1.0, double{kMostRuns}));
    replayed[i] = time_or_failed([&] { return timer.time_replays(i, runs); });
  }
  if (const std::vector<std::size_t> best = by_time(replayed); !best.empty()) found.candidate = best.front();
  return found;
}

}  // namespace eave::cuda
