// Keeps what the thread that computes does, and when.
#pragma once

#include <cstdint>

#include "base/trace_buffer.h"
#include "eave/communicator.h"

namespace eave {

// With nullptr nothing is kept, and no clock is read. What a span waited for other ranks becomes one of its own at its
// end: the communicator waits last in each of its calls, and says for how long.
// (With --batch-norm sync also between a pass's layers: what they waited for is shown behind them.)
class StepTrace {
 public:
  StepTrace(TraceBuffer* buffer, const Communicator& communicator) : buffer_(buffer), communicator_(communicator) {}

  // From here to its destruction.
  class Span {
   public:
    Span(const StepTrace& trace, SpanKind kind, std::int64_t index);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    const StepTrace& trace_;
    const SpanKind kind_;
    const std::int64_t step_;
    std::int64_t begin_ = 0;
    double waited_ = 0;
  };
  // `index` of the step, from 0.
  Span span(SpanKind kind, std::int64_t index) const { return {*this, kind, index}; }

 private:
  TraceBuffer* const buffer_;
  const Communicator& communicator_;
};

}  // namespace eave
