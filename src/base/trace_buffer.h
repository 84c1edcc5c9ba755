// What one thread did and when: the stuff that traces are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eave {

enum class SpanKind : std::int32_t {
  // of the thread that computes
  kLoading,
  kGradients,
  kUpdate,
  kSlowed,  // --slow-rank
  kWaiting,
  kEvaluation,
  // of communication
  kSum,
  kBroadcast,
  kGather,
  kRequest,
};

struct TraceSpan {
  std::int64_t begin = 0, end = 0;  // nanoseconds of the steady clock
  std::int64_t number = 0;          // computing: the step, from 1; communication: bytes
  SpanKind kind = SpanKind::kLoading;
  std::int32_t unused = 0;  // so that all of its bytes are known
};

// Keeps the first half of so many spans, and of the rest the last half. Takes its memory when it is made, and no lock:
// one thread at a time.
class TraceBuffer {
 public:
  explicit TraceBuffer(std::size_t most);
  void add(const TraceSpan& span) noexcept;

  std::vector<TraceSpan> first() const { return first_; }
  std::vector<TraceSpan> last() const;     // those kept of the rest, in their order
  std::int64_t left_out() const noexcept;  // between the two

 private:
  const std::size_t half_;
  std::vector<TraceSpan> first_, ring_;
  std::int64_t rest_ = 0;  // that came after the first
};

std::int64_t steady_nanoseconds() noexcept;

}  // namespace eave
