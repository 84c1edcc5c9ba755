#include "train/budget.h"

#include <algorithm>
#include <vector>

namespace eave {

bool is_budget_spent(Transport& transport, const TrainingPlan& plan, const TrainingProgress& mine) {
  const auto ranks = static_cast<std::size_t>(transport.size()), rank = static_cast<std::size_t>(transport.rank());
  std::vector<double> table(2 * ranks);
  table[rank] = mine.seconds;
  table[ranks + rank] = static_cast<double>(mine.bytes);
  table = sum_over_ranks(transport, table);
  const auto middle = table.begin() + static_cast<std::ptrdiff_t>(ranks);
  const double seconds = *std::max_element(table.begin(), middle), bytes = *std::max_element(middle, table.end());
  return (plan.stop_after_seconds > 0 && seconds >= plan.stop_after_seconds) ||
         (plan.stop_after_bytes > 0 && bytes >= static_cast<double>(plan.stop_after_bytes));
}

}  // namespace eave
