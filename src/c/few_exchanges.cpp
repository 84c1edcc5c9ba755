#include "c/few_exchanges.h"

#include "base/options/number_text.h"

namespace eave {
namespace {

constexpr std::int64_t kEnough = 4;  // exchanges

bool has_fixed_intervals(const OptionValues& values) {
  const auto is_set = [&](const char* name) { return values.entries().contains(name) && values.given(name); };
  return values.entries().contains("tau") && !is_set("tau-warmup") && !is_set("adaptive-tau") &&
         !is_set("post-local-at");
}

}  // namespace

std::string describe_few_exchanges(const OptionValues& values, std::int64_t steps) {
  if (steps == 0 || !has_fixed_intervals(values)) return "";
  const std::int64_t tau = values.integer("tau", 1), exchanges = steps / tau;
  if (exchanges >= kEnough) return "";
  const std::string after = "after " + count_text(steps, "step") + " with tau=" + std::to_string(tau) + " the ranks ";
  if (exchanges == 0) return after + "have never exchanged: each has trained alone; take a smaller tau, or more steps";
  return after + "have exchanged at most " + count_text(exchanges, "time") +
         ": that is little averaging; take a smaller tau, or more steps";
}

}  // namespace eave
