// The limits that end a run before its last step: accuracy, seconds and bytes.
#pragma once

#include <optional>
#include <string>

#include "eave/trainer.h"

namespace eave {

// How far a run has come towards its limits. `accuracy` is that of the consensus on the test set, at the last
// evaluation. `seconds` and `bytes` are the largest of any rank, as of the last ask_for_costs.
struct BudgetState {
  double accuracy = 0;
  double seconds = 0, bytes = 0;
};

// Collective. `mine` holds this rank's seconds and bytes. Returns the largest of each over all ranks, with accuracy 0.
BudgetState ask_for_costs(Transport& transport, const TrainingProgress& mine);

bool is_budget_spent(const TrainingPlan& plan, const BudgetState& reached);
bool is_accurate_enough(const TrainingPlan& plan, double accuracy);
// Whether the budget is spent or the accuracy is reached.
bool is_enough(const TrainingPlan& plan, const BudgetState& reached);

// The text of the manifest's note kEnded. reached_in returns nothing if `text` is not such a text.
std::string to_text(const BudgetState& reached);
std::optional<BudgetState> reached_in(const std::string& text);

}  // namespace eave
