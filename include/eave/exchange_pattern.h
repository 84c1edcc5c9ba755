// How the ranks of a method exchange values while they train.
#pragma once

namespace eave {

// `eave plan` predicts the time of a step by a method's pattern (src/report/plan/plan_model.h has the formulas). tau is
// the method's option --tau; a method without that option exchanges in every step.
enum class ExchangePattern {
  kNone,          // ranks exchange nothing
  kGradientSums,  // in every step, sums of the gradients over all ranks; all but the last overlap with backward
  kBlockingSums,  // every tau steps, a sum over all ranks, for which training waits
  kHiddenSums,    // every tau steps, a sum over all ranks, which runs behind the next tau steps
  kTree,          // hidden sums within each host every tau steps, and between hosts every --global-tau steps
  kRequests,      // every tau steps, each rank by itself sends requests to the ranks that keep a center
  kPairs,         // every tau steps, pairs of ranks exchange their parameters
};

}  // namespace eave
