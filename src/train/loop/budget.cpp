#include "train/loop/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "eave/agreement.h"

namespace eave {

BudgetState ask_for_costs(Transport& transport, const TrainingProgress& mine) {
  const std::vector<double> most =
      combine_over_ranks(transport, {mine.seconds, static_cast<double>(mine.bytes)}, [](const Rows& rows) {
        std::vector<double> largest = rows.front();
        for (const std::vector<double>& row : rows)
          for (std::size_t i = 0; i < row.size(); ++i) largest[i] = std::max(largest[i], row[i]);
        return largest;
      });
  BudgetState reached;
  reached.seconds = most[0];
  reached.bytes = most[1];
  return reached;
}

bool EvaluationShares::ends_share(std::int64_t index) const {
  if (plan_.evaluations <= 0 || is_limited()) return false;
  return (index + 1) * plan_.evaluations / plan_.steps > index * plan_.evaluations / plan_.steps;
}

bool EvaluationShares::asks_after(std::int64_t index) const { return plan_.evaluations > 0 && index >= asks_after_; }

bool EvaluationShares::is_due(std::int64_t index, const BudgetState& reached) {
  if (plan_.evaluations <= 0) return false;
  const auto evaluations = static_cast<double>(plan_.evaluations);
  double spent = 0;
  if (plan_.stop_after_seconds > 0) spent = reached.seconds / plan_.stop_after_seconds;
  if (plan_.stop_after_bytes > 0) spent = std::max(spent, reached.bytes / static_cast<double>(plan_.stop_after_bytes));
  const double shares = std::floor(spent * evaluations);
  // The next share ends after so many steps, if these cost as much as those before.
  const double of_step = spent * evaluations / static_cast<double>(index + 1);
  const double steps = of_step > 0 ? std::ceil((shares + 1 - spent * evaluations) / of_step) : 1;
  asks_after_ = index + static_cast<std::int64_t>(std::clamp(steps, 1.0, static_cast<double>(plan_.ask_every_steps)));
  // A resumed run has evaluated the shares of its first part then.
  const bool is_first_ask = done_ < 0 && plan_.first_step > 0;
  const bool is_due = !is_first_ask && shares > std::max(done_, 0.0);
  done_ = shares;
  return is_due;
}

bool is_budget_spent(const TrainingPlan& plan, const BudgetState& reached) {
  return (plan.stop_after_seconds > 0 && reached.seconds >= plan.stop_after_seconds) ||
         (plan.stop_after_bytes > 0 && reached.bytes >= static_cast<double>(plan.stop_after_bytes));
}

bool is_good_enough(const TrainingPlan& plan, double accuracy, double loss) {
  return (plan.stop_at_accuracy > 0 && accuracy >= plan.stop_at_accuracy) ||
         (plan.stop_at_loss > 0 && loss <= plan.stop_at_loss);
}

bool is_enough(const TrainingPlan& plan, const BudgetState& reached) {
  return is_budget_spent(plan, reached) || is_good_enough(plan, reached.accuracy, reached.loss);
}

std::string to_text(const BudgetState& reached) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "accuracy %.17g, seconds %.17g, bytes %.17g, loss %.17g", reached.accuracy,
                reached.seconds, reached.bytes, reached.loss);
  return text.data();
}

std::optional<BudgetState> reached_in(const std::string& text) {
  BudgetState reached;
  // Checkpoints from before 2026-11-28 have no loss.
  const int read = std::sscanf(text.c_str(), "accuracy %lf, seconds %lf, bytes %lf, loss %lf", &reached.accuracy,
                               &reached.seconds, &reached.bytes, &reached.loss);
  const bool is_one = read >= 3 && std::isfinite(reached.accuracy + reached.seconds + reached.bytes);
  return is_one ? std::optional(reached) : std::nullopt;
}

}  // namespace eave
