// Streams and events: the order of operations, and running only the operations that a call waits for.
#include <algorithm>
#include <map>
#include <utility>

#include "state.h"

namespace eave::emulated_cuda {
namespace {

struct Streams {
  std::vector<std::unique_ptr<CUstream_st>> made;
  std::map<int, CUstream_st> own;  // the default stream (nullptr) of each device
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::vector<Task> left_behind;  // last operations of destroyed streams that still had work
  long long run = 0;
};

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

bool is_done(const Task& task) { return !task || task->done; }

void finish(Operation& operation) {
  if (operation.work) {
    operation.work();
    ++streams().run;
  }
  operation.work = nullptr;
  operation.done = true;
  operation.done_at = std::chrono::steady_clock::now();
}

// Runs `task` after all that it needs. Needs run in reverse order of registration, so that code which only hopes for an
// order is likely to get the wrong one.
void run_with_needs(const Task& task) {
  std::vector<Task> stack = {task};
  while (!stack.empty()) {
    Operation& top = *stack.back();
    while (!top.needs.empty() && top.needs.back()->done) top.needs.pop_back();
    if (!top.done && !top.needs.empty()) {
      stack.push_back(top.needs.back());
      continue;
    }
    if (!top.done) finish(top);
    stack.pop_back();
  }
}

cudaError_t make(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t status = devices_status(); status != cudaSuccess) return status;
  streams().made.push_back(std::make_unique<CUstream_st>());
  *stream = streams().made.back().get();
  (*stream)->device = current_device();
  (*stream)->blocking = (flags & cudaStreamNonBlocking) == 0;
  return cudaSuccess;
}

template <class Handle>
bool erase(std::vector<std::unique_ptr<Handle>>& from, Handle* handle) {
  return std::erase_if(from, [&](const auto& each) { return each.get() == handle; }) > 0;
}

cudaError_t wait_for(CUstream_st* stream, cudaEvent_t event) {
  if (stream == nullptr || !is_event(event)) return cudaErrorInvalidResourceHandle;
  if (event->capture) {
    if (stream->capture && stream->capture != event->capture) return lose(*stream->capture);
    if (!stream->capture) stream->captured_last.clear();
    stream->capture = event->capture;
    auto& last = stream->captured_last;
    last.insert(last.end(), event->captured_last.begin(), event->captured_last.end());
    return cudaSuccess;
  }
  if (stream->capture) return lose(*stream->capture);
  if (event->task) push(*stream, nullptr, {event->task});
  return cudaSuccess;
}

cudaError_t record(CUstream_st* stream, cudaEvent_t event) {
  if (stream == nullptr || !is_event(event)) return cudaErrorInvalidResourceHandle;
  event->capture = stream->capture;
  event->captured_last = stream->captured_last;
  event->task = stream->capture ? nullptr : push(*stream, nullptr);
  return cudaSuccess;
}

cudaError_t query(const Task& task) {
  if (const cudaError_t status = refuse_in_capture(); status != cudaSuccess) return status;
  if (is_done(task)) return cudaSuccess;
  run(task);
  return cudaErrorNotReady;
}

cudaError_t synchronize(const Task& task) {
  if (const cudaError_t status = refuse_in_capture(); status != cudaSuccess) return status;
  if (!is_done(task)) run(task);
  return cudaSuccess;
}

cudaError_t launch_checked(CUstream_st* stream, std::function<void()> work) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  push(*stream, std::move(work));
  return cudaSuccess;
}

}  // namespace

const std::vector<std::unique_ptr<CUstream_st>>& all_streams() { return streams().made; }

CUstream_st* find_stream(cudaStream_t stream) {
  if (stream == nullptr) {
    CUstream_st& own = streams().own[current_device()];
    own.device = current_device();
    return &own;
  }
  const bool known = std::ranges::any_of(streams().made, [&](const auto& each) { return each.get() == stream; });
  return known ? stream : nullptr;
}

bool is_event(cudaEvent_t event) {
  return std::ranges::any_of(streams().events, [&](const auto& each) { return each.get() == event; });
}

Task push(CUstream_st& stream, std::function<void()> work, std::vector<Task> also_needs) {
  if (stream.capture) {
    stream.capture->nodes.push_back({std::move(work), stream.captured_last});
    stream.captured_last = {stream.capture->nodes.size() - 1};
    return nullptr;
  }
  auto task = std::make_shared<Operation>();
  task->work = std::move(work);
  task->needs = std::move(also_needs);
  task->needs.push_back(stream.last);
  CUstream_st& own = streams().own[stream.device];
  if (&stream == &own) {
    for (const auto& other : streams().made) {
      if (other->blocking && other->device == stream.device) task->needs.push_back(other->last);
    }
  } else if (stream.blocking) {
    task->needs.push_back(own.last);
  }
  std::erase_if(task->needs, is_done);
  stream.last = task;
  return task;
}

void run(const Task& task) {
  with_device_memory([&] { run_with_needs(task); });
}

void run_everything() {
  with_device_memory([] {
    for (const Task& task : std::exchange(streams().left_behind, {})) run_with_needs(task);
    for (auto& [device, stream] : streams().own) {
      if (!is_done(stream.last)) run_with_needs(stream.last);
    }
    for (const auto& stream : streams().made) {
      if (!is_done(stream->last)) run_with_needs(stream->last);
    }
  });
}

bool any_stream_has_work() {
  const auto has_work = [](const Task& task) { return !is_done(task); };
  return std::ranges::any_of(streams().left_behind, has_work) ||
         std::ranges::any_of(streams().own, [&](const auto& each) { return has_work(each.second.last); }) ||
         std::ranges::any_of(streams().made, [&](const auto& each) { return has_work(each->last); });
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  return call("enqueue", [&] { return launch_checked(find_stream(stream), std::move(work)); });
}

long long operations_run() {
  const std::lock_guard guard(lock());
  return streams().run;
}

}  // namespace eave::emulated_cuda

using namespace eave::emulated_cuda;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call("cudaStreamCreate", [&] { return make(stream, cudaStreamDefault); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call("cudaStreamCreateWithFlags", [&] { return make(stream, flags); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return call("cudaStreamCreateWithPriority", [&] { return make(stream, flags); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", [&] {
    if (stream == nullptr || find_stream(stream) == nullptr) return cudaErrorInvalidResourceHandle;
    if (!is_done(stream->last)) streams().left_behind.push_back(stream->last);
    erase(streams().made, stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&] {
    const CUstream_st* const found = find_stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    return found->capture ? lose(*found->capture) : synchronize(found->last);
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&] {
    const CUstream_st* const found = find_stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    return found->capture ? lose(*found->capture) : query(found->last);
  });
}
cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [&] {
    cudaError_t status = devices_status();
    if (status == cudaSuccess) status = refuse_in_capture();
    if (status == cudaSuccess) run_everything();
    return status;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call("cudaStreamWaitEvent", [&] { return wait_for(find_stream(stream), event); });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call("cudaLaunchHostFunc",
              [&] { return launch_checked(find_stream(stream), [function, data] { function(data); }); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&] {
    if (const cudaError_t status = devices_status(); status != cudaSuccess) return status;
    streams().events.push_back(std::make_unique<CUevent_st>());
    *event = streams().events.back().get();
    (*event)->timing = (flags & cudaEventDisableTiming) == 0;
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy",
              [&] { return erase(streams().events, event) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&] { return record(find_stream(stream), event); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&] {
    if (!is_event(event)) return cudaErrorInvalidResourceHandle;
    return event->capture ? lose(*event->capture) : query(event->task);
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&] {
    if (!is_event(event)) return cudaErrorInvalidResourceHandle;
    return event->capture ? lose(*event->capture) : synchronize(event->task);
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&] {
    const bool fit = is_event(begin) && is_event(end) && begin->timing && end->timing && begin->task && end->task;
    if (!fit) return cudaErrorInvalidResourceHandle;
    if (!is_done(begin->task) || !is_done(end->task)) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(end->task->done_at - begin->task->done_at).count();
    return cudaSuccess;
  });
}
