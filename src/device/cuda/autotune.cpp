#include "device/cuda/autotune.h"

#include <algorithm>
#include <array>
#include <limits>

#include "device/cuda/cuda_handles.h"
#include "eave/check.h"

namespace eave::cuda {
namespace {

constexpr int kRepetitions = 10;  // in one graph: many operations take less time than a launch
constexpr int kReplays = 7;

Event make_timer() {
  cudaEvent_t event = nullptr;
  EAVE_CUDA(cudaEventCreate(&event));
  return Event(event);
}

RecordedGraph record(cudaStream_t stream, const std::function<void()>& run) {
  cudaGraph_t graph = nullptr;
  EAVE_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    for (int i = 0; i < kRepetitions; ++i) run();
  } catch (...) {
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  EAVE_CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t runs = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&runs, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check_cuda(made, "cudaGraphInstantiate");
  return RecordedGraph(runs);
}

float median_time_ms(cudaStream_t stream, const std::function<void()>& run) {
  run();  // loads code, which a capture must not do
  EAVE_CUDA(cudaStreamSynchronize(stream));
  const RecordedGraph runs = record(stream, run);
  EAVE_CUDA(cudaGraphLaunch(runs.get(), stream));
  const Event begin = make_timer(), end = make_timer();
  std::array<float, kReplays> times{};
  for (float& time : times) {
    EAVE_CUDA(cudaEventRecord(begin.get(), stream));
    EAVE_CUDA(cudaGraphLaunch(runs.get(), stream));
    EAVE_CUDA(cudaEventRecord(end.get(), stream));
    EAVE_CUDA(cudaEventSynchronize(end.get()));
    EAVE_CUDA(cudaEventElapsedTime(&time, begin.get(), end.get()));
  }
  std::ranges::nth_element(times, times.begin() + kReplays / 2);
  return times[kReplays / 2];
}

}  // namespace

TemporaryMemory::TemporaryMemory(std::int64_t bytes, cudaStream_t stream)
    : memory_(device_bytes(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)))) {
  EAVE_CUDA(cudaMemsetAsync(memory_.get(), 0, static_cast<std::size_t>(bytes), stream));
}

std::size_t find_fastest(cudaStream_t stream, std::size_t count, const std::function<void(std::size_t)>& run) {
  std::size_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; count > 1 && i < count; ++i) {
    try {
      const float time = median_time_ms(stream, [&] { run(i); });
      if (time < least) {
        least = time;
        best = i;
      }
    } catch (const Error&) {
      static_cast<void>(cudaGetLastError());  // a refused candidate is no failure; a lost device will tell again
    }
  }
  return best;
}

}  // namespace eave::cuda
