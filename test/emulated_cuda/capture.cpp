// Captured streams, and the graphs they become.
#include <algorithm>
#include <set>

#include "state.h"

namespace eave::emulated_cuda {
namespace {

struct Graphs {
  std::set<std::shared_ptr<Capture>> active;
  std::vector<std::unique_ptr<CUgraph_st>> graphs;
  std::vector<std::unique_ptr<CUgraphExec_st>> executables;
};

Graphs& graphs() {
  static auto* const all = new Graphs;
  return *all;
}

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

template <class Handle>
bool known(const std::vector<std::unique_ptr<Handle>>& among, const Handle* handle) {
  return std::ranges::any_of(among, [&](const auto& each) { return each.get() == handle; });
}

bool forbids(const Capture& capture) {
  if (mode_of_thread == cudaStreamCaptureModeRelaxed || !capture.valid) return false;
  if (capture.thread == this_thread()) return capture.mode != cudaStreamCaptureModeRelaxed;
  return capture.mode == cudaStreamCaptureModeGlobal && mode_of_thread == cudaStreamCaptureModeGlobal;
}

// Whether every captured node precedes the last node of the stream on which the capture began, as CUDA requires.
bool all_joined(const Capture& capture) {
  std::vector<bool> before(capture.nodes.size());
  std::vector<std::size_t> next = capture.origin->captured_last;
  while (!next.empty()) {
    const std::size_t node = next.back();
    next.pop_back();
    if (before[node]) continue;
    before[node] = true;
    next.insert(next.end(), capture.nodes[node].needs.begin(), capture.nodes[node].needs.end());
  }
  return std::ranges::all_of(before, [](bool each) { return each; });
}

cudaError_t begin(CUstream_st* stream, cudaStreamCaptureMode mode) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream == find_stream(nullptr) || stream->capture) return cudaErrorStreamCaptureUnsupported;
  stream->capture = std::make_shared<Capture>();
  *stream->capture = {stream, mode, this_thread(), true, {}};
  stream->captured_last.clear();
  graphs().active.insert(stream->capture);
  return cudaSuccess;
}

cudaError_t end(CUstream_st* stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (!stream->capture || stream->capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
  const auto capture = stream->capture;
  const bool joined = all_joined(*capture);
  graphs().active.erase(capture);
  for (const auto& each : all_streams()) {
    if (each->capture == capture) each->capture = nullptr;
  }
  if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) return cudaErrorStreamCaptureUnjoined;
  graphs().graphs.push_back(std::make_unique<CUgraph_st>());
  *graph = graphs().graphs.back().get();
  (*graph)->nodes = std::move(capture->nodes);
  return cudaSuccess;
}

void add_to_capture(CUstream_st& stream, const CUgraphExec_st& executable) {
  auto& nodes = stream.capture->nodes;
  const std::size_t first = nodes.size();
  for (const Node& node : executable.nodes) {
    nodes.push_back(node);
    for (std::size_t& need : nodes.back().needs) need += first;
    if (node.needs.empty()) nodes.back().needs = stream.captured_last;
  }
  stream.captured_last.clear();
  for (std::size_t node = first; node < nodes.size(); ++node) stream.captured_last.push_back(node);
}

cudaError_t launch(CUstream_st* stream, CUgraphExec_st& executable) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {
    add_to_capture(*stream, executable);
    return cudaSuccess;
  }
  const Task start = push(*stream, nullptr, executable.last ? std::vector<Task>{executable.last} : std::vector<Task>{});
  std::vector<Task> tasks;
  for (const Node& node : executable.nodes) {
    auto task = std::make_shared<Operation>();
    task->work = node.work;
    for (const std::size_t need : node.needs) task->needs.push_back(tasks[need]);
    if (task->needs.empty()) task->needs.push_back(start);
    tasks.push_back(std::move(task));
  }
  executable.last = push(*stream, nullptr, std::move(tasks));
  return cudaSuccess;
}

}  // namespace

const void* this_thread() {
  static thread_local char mark;
  return &mark;
}

cudaError_t lose(Capture& capture) {
  capture.valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t refuse_in_capture() {
  cudaError_t status = cudaSuccess;
  for (const auto& capture : graphs().active) {
    if (forbids(*capture)) status = lose(*capture);
  }
  return status;
}

}  // namespace eave::emulated_cuda

using namespace eave::emulated_cuda;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture",
              [&] { return stream == nullptr ? cudaErrorStreamCaptureUnsupported : begin(find_stream(stream), mode); });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&] { return end(find_stream(stream), graph); });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call("cudaStreamIsCapturing", [&] {
    const CUstream_st* const found = find_stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    *status = !found->capture         ? cudaStreamCaptureStatusNone
              : found->capture->valid ? cudaStreamCaptureStatusActive
                                      : cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, mode_of_thread);
  return cudaSuccess;
}
// Only counts the nodes; `nodes` must be nullptr.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return call("cudaGraphGetNodes", [&] {
    if (!known(graphs().graphs, graph) || nodes != nullptr) return cudaErrorInvalidValue;
    *count = graph->nodes.size();
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&] {
    const auto erased = std::erase_if(graphs().graphs, [&](const auto& each) { return each.get() == graph; });
    return erased > 0 ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return call("cudaGraphInstantiate", [&] {
    if (!known(graphs().graphs, graph)) return cudaErrorInvalidValue;
    graphs().executables.push_back(std::make_unique<CUgraphExec_st>());
    *executable = graphs().executables.back().get();
    (*executable)->nodes = graph->nodes;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return call("cudaGraphUpload", [&] {
    const bool fit = known(graphs().executables, executable) && find_stream(stream) != nullptr;
    return fit ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call("cudaGraphLaunch", [&] {
    return known(graphs().executables, executable) ? launch(find_stream(stream), *executable) : cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call("cudaGraphExecDestroy", [&] {
    const auto erased = std::erase_if(graphs().executables, [&](const auto& each) { return each.get() == executable; });
    return erased > 0 ? cudaSuccess : cudaErrorInvalidValue;
  });
}
