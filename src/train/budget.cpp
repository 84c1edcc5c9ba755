#include "train/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace eave {

Reached ask_for_costs(Transport& transport, const TrainingProgress& mine) {
  const auto ranks = static_cast<std::size_t>(transport.size()), rank = static_cast<std::size_t>(transport.rank());
  std::vector<double> table(2 * ranks);
  table[rank] = mine.seconds;
  table[ranks + rank] = static_cast<double>(mine.bytes);
  table = sum_over_ranks(transport, table);
  const auto middle = table.begin() + static_cast<std::ptrdiff_t>(ranks);
  return {0, *std::max_element(table.begin(), middle), *std::max_element(middle, table.end())};
}

bool is_budget_spent(const TrainingPlan& plan, const Reached& reached) {
  return (plan.stop_after_seconds > 0 && reached.seconds >= plan.stop_after_seconds) ||
         (plan.stop_after_bytes > 0 && reached.bytes >= static_cast<double>(plan.stop_after_bytes));
}

bool is_enough(const TrainingPlan& plan, const Reached& reached) {
  return is_budget_spent(plan, reached) || (plan.stop_at_accuracy > 0 && reached.accuracy >= plan.stop_at_accuracy);
}

std::string to_text(const Reached& reached) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "accuracy %.17g, seconds %.17g, bytes %.17g", reached.accuracy,
                reached.seconds, reached.bytes);
  return text.data();
}

std::optional<Reached> reached_in(const std::string& text) {
  Reached reached;
  const int read = std::sscanf(text.c_str(), "accuracy %lf, seconds %lf, bytes %lf", &reached.accuracy,
                               &reached.seconds, &reached.bytes);
  const bool is_one = read == 3 && std::isfinite(reached.accuracy + reached.seconds + reached.bytes);
  return is_one ? std::optional(reached) : std::nullopt;
}

}  // namespace eave
