// Records what one thread did and when. Traces are made from these records.
#pragma once

#include <algorithm>
#include <chrono>
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
  explicit TraceBuffer(std::size_t most) : half_(std::max<std::size_t>(most / 2, 1)) {
    first_.reserve(half_);
    ring_.reserve(half_);
  }
  void add(const TraceSpan& span) noexcept {
    if (first_.size() < half_) return first_.push_back(span);
    if (ring_.size() < half_) {
      ring_.push_back(span);
    } else {
      ring_[static_cast<std::size_t>(rest_) % half_] = span;
    }
    ++rest_;
  }

  std::vector<TraceSpan> first() const { return first_; }
  // The latest spans, in their order.
  std::vector<TraceSpan> last() const {
    std::vector<TraceSpan> spans = ring_;
    const auto oldest = static_cast<std::ptrdiff_t>(left_out() > 0 ? static_cast<std::size_t>(rest_) % half_ : 0);
    std::rotate(spans.begin(), spans.begin() + oldest, spans.end());
    return spans;
  }
  // Spans dropped between first() and last().
  std::int64_t left_out() const noexcept { return rest_ - static_cast<std::int64_t>(ring_.size()); }

 private:
  const std::size_t half_;
  std::vector<TraceSpan> first_, ring_;
  std::int64_t rest_ = 0;  // spans added after `first_` was full
};

inline std::int64_t steady_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace eave
