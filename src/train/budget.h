// What ends a run before its steps are done.
#pragma once

#include <optional>
#include <string>

#include "eave/trainer.h"

namespace eave {

// What a run has reached: test accuracy of the consensus at the last evaluation, and what it took by when ranks last
// asked for it, on the rank where that is most.
struct BudgetState {
  double accuracy = 0;
  double seconds = 0, bytes = 0;
};

// Collective: seconds and bytes, from what each rank has taken.
BudgetState ask_for_costs(Transport& transport, const TrainingProgress& mine);

bool is_budget_spent(const TrainingPlan& plan, const BudgetState& reached);
bool is_accurate_enough(const TrainingPlan& plan, double accuracy);
// One of the two.
bool is_enough(const TrainingPlan& plan, const BudgetState& reached);

// As a note in a manifest; a text that is none is nothing.
std::string to_text(const BudgetState& reached);
std::optional<BudgetState> reached_in(const std::string& text);

}  // namespace eave
