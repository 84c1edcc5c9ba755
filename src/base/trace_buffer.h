// Records what one thread did and when. Traces are made from these records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eave {

enum class SpanKind : std::int32_t {
  // Spans of the computing thread.
  kLoading,
  kGradients,
  kUpdate,
  kSlowed,  // --slow-rank
  kWaiting,
  kEvaluation,
  // Spans of communication.
  kSum,
  kBroadcast,
  kGather,
  kRequest,
};

struct TraceSpan {
  std::int64_t begin = 0, end = 0;  // nanoseconds of the steady clock
  std::int64_t number = 0;          // a step, from 1; for spans of communication, bytes
  SpanKind kind = SpanKind::kLoading;
  std::int32_t unused = 0;  // makes all bytes of the struct defined
};

// Keeps up to `most` spans: the earliest and the latest, half of each. Allocates its memory in the constructor and
// takes no lock: only one thread may use it at a time.
class TraceBuffer {
 public:
  explicit TraceBuffer(std::size_t most);
  void add(const TraceSpan& span) noexcept;

  std::vector<TraceSpan> first() const { return first_; }
  std::vector<TraceSpan> last() const;     // the latest spans, in their order
  std::int64_t left_out() const noexcept;  // spans dropped between first() and last()

 private:
  const std::size_t half_;
  std::vector<TraceSpan> first_, ring_;
  std::int64_t rest_ = 0;  // spans added after `first_` was full
};

std::int64_t steady_nanoseconds() noexcept;

}  // namespace eave
