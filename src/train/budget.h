// When a run has taken as long, or sent as much, as it may.
#pragma once

#include "eave/trainer.h"

namespace eave {

// Collective, and the same on all ranks: by the rank that has taken longest or sent most.
bool is_budget_spent(Transport& transport, const TrainingPlan& plan, const TrainingProgress& mine);

}  // namespace eave
