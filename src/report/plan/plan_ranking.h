// Ranks the methods of a plan, and says whether the plan can tell the first two apart.
#pragma once

#include <string>
#include <vector>

#include "report/plan/plan_text.h"

namespace eave {

// The largest relative error of the model's step times against measured ones, for exchanges of this pattern, on 1 to 8
// hosts of one rank each: rounded up from the record 2026-11-25-plan-validation.json. bench/results/plan.md says when
// plans are worse than this.
double model_error(ExchangePattern pattern);
// Plans for more hosts than this have not been compared with measurements.
inline constexpr int kMostHostsMeasured = 8;

struct RankedPlan {
  const Plan* plan = nullptr;
  const PlanRow* row = nullptr;
  double speed = 0;          // samples/s divided by those of one rank
  double waiting_share = 0;  // of a step: for slower ranks and for exchanges
  double error = 0;          // model_error
};

// The samples per second of one rank that trains alone.
double one_rank_rate(const PlanBasis& basis);

// The methods' rows for this number of ranks, the fastest first.
std::vector<RankedPlan> ranked_plans(const PlanReport& report, int ranks);

// Whether `first` stays ahead of `next` if the model is wrong by its largest measured error about both.
bool is_ahead(const RankedPlan& first, const RankedPlan& next);

// One table of all numbers of ranks, in their order, each with its methods from the fastest to the slowest.
std::string ranking_table(const PlanReport& report);

// For each number of ranks, a sentence that says which method is first, by how much, and whether that exceeds the
// model's error.
std::vector<std::string> ranking_sentences(const PlanReport& report);

// Whether methods that exchange every tau steps are planned with different taus.
bool has_several_taus(const PlanReport& report);

// All of them in one sentence: which method is first on which numbers of ranks. "" if there is only one method.
std::string ranking_conclusion(const PlanReport& report);

}  // namespace eave
