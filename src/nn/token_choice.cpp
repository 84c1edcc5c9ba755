// Chooses the next token of a text from the model's logits.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "nn/growing_text.h"

namespace eave {
namespace {

struct TokenWeight {
  std::int32_t token;
  double weight;
};

// Keeps the most probable tokens, in their order.
void keep_best(std::vector<TokenWeight>& candidates, const TokenChoice& choice) {
  const auto before = [](const TokenWeight& a, const TokenWeight& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  };
  const auto kept = choice.top_k > 0 ? std::min(choice.top_k, std::ssize(candidates)) : std::ssize(candidates);
  std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(), before);
  candidates.resize(static_cast<std::size_t>(kept));
}

double sum_of(const std::vector<TokenWeight>& candidates) {
  return std::accumulate(candidates.begin(), candidates.end(), 0.0,
                         [](double sum, const TokenWeight& each) { return sum + each.weight; });
}

// Keeps the first tokens whose weights reach the share `top_p` of all.
void keep_share(std::vector<TokenWeight>& candidates, double top_p) {
  const double enough = top_p * sum_of(candidates);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || sum < enough)) sum += candidates[kept++].weight;
  candidates.resize(kept);
}

}  // namespace

std::int32_t choose_token(ConstSlice logits, const TokenChoice& choice, double number) {
  const auto largest = std::ranges::max_element(logits);
  if (choice.temperature == 0) return static_cast<std::int32_t>(largest - logits.begin());
  std::vector<TokenWeight> candidates(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    candidates[i] = {static_cast<std::int32_t>(i),
                     std::exp((double{logits[i]} - double{*largest}) / choice.temperature)};
  if (choice.top_k > 0 || choice.top_p < 1) keep_best(candidates, choice);
  if (choice.top_p < 1) keep_share(candidates, choice.top_p);
  const double wanted = number * sum_of(candidates);
  double sum = 0;
  for (const TokenWeight& each : candidates) {
    sum += each.weight;
    if (wanted < sum) return each.token;
  }
  return candidates.back().token;  // rounding: the sum stayed below its own total
}

}  // namespace eave
