#include "base/trace_buffer.h"

#include <algorithm>
#include <chrono>

namespace eave {

TraceBuffer::TraceBuffer(std::size_t most) : half_(std::max<std::size_t>(most / 2, 1)) {
  first_.reserve(half_);
  ring_.reserve(half_);
}

void TraceBuffer::add(const TraceSpan& span) noexcept {
  if (first_.size() < half_) return first_.push_back(span);
  if (ring_.size() < half_) {
    ring_.push_back(span);
  } else {
    ring_[static_cast<std::size_t>(rest_) % half_] = span;
  }
  ++rest_;
}

std::vector<TraceSpan> TraceBuffer::last() const {
  std::vector<TraceSpan> spans = ring_;
  const auto oldest = static_cast<std::ptrdiff_t>(left_out() > 0 ? static_cast<std::size_t>(rest_) % half_ : 0);
  std::rotate(spans.begin(), spans.begin() + oldest, spans.end());
  return spans;
}

std::int64_t TraceBuffer::left_out() const noexcept { return rest_ - static_cast<std::int64_t>(ring_.size()); }

std::int64_t steady_nanoseconds() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace eave
