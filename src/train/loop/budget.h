// The limits that end a run before its last step: score, seconds and bytes.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "eave/trainer.h"

namespace eave {

// How far a run has come towards its limits. `accuracy` and `loss` are those of the consensus on the test set, at the
// last evaluation. `seconds` and `bytes` are the largest of any rank, as of the last ask_for_costs.
struct BudgetState {
  double accuracy = 0;
  double seconds = 0, bytes = 0;
  double loss = std::numeric_limits<double>::infinity();
};

// Collective. `mine` holds this rank's seconds and bytes. Returns the largest of each over all ranks, without a score.
BudgetState ask_for_costs(Transport& transport, const TrainingProgress& mine);

// Spreads TrainingPlan::evaluations over a run. All ranks get the same answers, because they all know the same costs.
class EvaluationShares {
 public:
  explicit EvaluationShares(const TrainingPlan& plan) : plan_(plan), asks_after_(plan.first_step) {}
  // Whether this step ends one of the equal shares of the run's steps. Never, if time or bytes limit the run.
  bool ends_share(std::int64_t index) const;
  // Whether the ranks must compare their costs after this step, lest a share of time or bytes is missed.
  bool asks_after(std::int64_t index) const;
  // Call it after the ranks have compared their costs after this step: whether a share of time or bytes is used up.
  bool is_due(std::int64_t index, const BudgetState& reached);

 private:
  bool is_limited() const { return plan_.stop_after_seconds > 0 || plan_.stop_after_bytes > 0; }
  const TrainingPlan& plan_;
  std::int64_t asks_after_;
  double done_ = -1;  // shares; -1: not asked yet
};

bool is_budget_spent(const TrainingPlan& plan, const BudgetState& reached);
// Whether stop_at_accuracy or stop_at_loss is reached.
bool is_good_enough(const TrainingPlan& plan, double accuracy, double loss);
// Whether the budget is spent or the score is reached.
bool is_enough(const TrainingPlan& plan, const BudgetState& reached);

// The text of the manifest's note kEnded. reached_in returns nothing if `text` is not such a text.
std::string to_text(const BudgetState& reached);
std::optional<BudgetState> reached_in(const std::string& text);

}  // namespace eave
