#include "train/loop/step_trace.h"

#include <algorithm>

namespace eave {
namespace {

constexpr std::int64_t kShortest = 1000;  // ns; a shorter span could not be seen

}  // namespace

StepTrace::Span::Span(const StepTrace& trace, SpanKind kind, std::int64_t index)
    : trace_(trace), kind_(kind), step_(index + 1) {
  if (!trace_.buffer_) return;
  waited_ = trace_.communicator_.costs().seconds_waiting;
  begin_ = steady_nanoseconds();
}

StepTrace::Span::~Span() {
  if (!trace_.buffer_) return;
  const std::int64_t end = steady_nanoseconds();
  const double waited = trace_.communicator_.costs().seconds_waiting - waited_;
  // Waiting within an evaluation stays part of the evaluation.
  const std::int64_t waiting =
      kind_ == SpanKind::kEvaluation ? end : std::max(end - static_cast<std::int64_t>(1e9 * waited), begin_);
  if (waiting - begin_ >= kShortest) trace_.buffer_->add({begin_, waiting, step_, kind_});
  if (end - waiting >= kShortest) trace_.buffer_->add({waiting, end, step_, SpanKind::kWaiting});
}

}  // namespace eave
