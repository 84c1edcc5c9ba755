// Records what the computing thread does, and when.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/trace_buffer.h"
#include "eave/communicator.h"

namespace eave {

// If `buffer` is nullptr, nothing is recorded and no clock is read. Time that a span waited for other ranks becomes a
// span of its own, at the end of it. That is right because each call of the communicator does its waiting last, and
// reports how long it was. With --batch-norm sync, ranks also wait between the layers of a pass; that waiting is shown
// at the end too.
class StepTrace {
 public:
  StepTrace(TraceBuffer* buffer, const Communicator& communicator) : buffer_(buffer), communicator_(communicator) {}

  // A span lasts from construction to destruction.
  class Span {
   public:
    Span(const StepTrace& trace, SpanKind kind, std::int64_t index) : trace_(trace), kind_(kind), step_(index + 1) {
      if (!trace_.buffer_) return;
      waited_ = trace_.communicator_.costs().seconds_waiting;
      begin_ = steady_nanoseconds();
    }
    ~Span() {
      if (!trace_.buffer_) return;
      const std::int64_t end = steady_nanoseconds();
      const double waited = trace_.communicator_.costs().seconds_waiting - waited_;
      // Waiting within an evaluation stays part of the evaluation.
      const std::int64_t waiting =
          kind_ == SpanKind::kEvaluation ? end : std::max(end - static_cast<std::int64_t>(1e9 * waited), begin_);
      if (waiting - begin_ >= kShortest) trace_.buffer_->add({begin_, waiting, step_, kind_});
      if (end - waiting >= kShortest) trace_.buffer_->add({waiting, end, step_, SpanKind::kWaiting});
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    static constexpr std::int64_t kShortest = 1000;  // ns; a shorter span could not be seen

    const StepTrace& trace_;
    const SpanKind kind_;
    const std::int64_t step_;
    std::int64_t begin_ = 0;
    double waited_ = 0;
  };
  // `index`: the step, from 0.
  Span span(SpanKind kind, std::int64_t index) const { return {*this, kind, index}; }

 private:
  TraceBuffer* const buffer_;
  const Communicator& communicator_;
};

}  // namespace eave
