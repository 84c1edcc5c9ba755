// Draws of the next token of a text.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "nn/growing_text.h"

namespace eave {
namespace {

// Of softmax: 0.1, 0.4, 0.3, 0.2.
const std::vector<float> kLogits = {std::log(0.1F), std::log(0.4F), std::log(0.3F), std::log(0.2F)};

// The share of each token in 40,000 draws, to within 0.01 (four deviations).
void expect_shares(const TokenChoice& choice, const std::vector<double>& shares) {
  constexpr int kDraws = 40'000;
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[choose_token(kLogits, choice, (i + 0.5) / kDraws)];
  for (std::size_t token = 0; token < shares.size(); ++token)
    EXPECT_NEAR(counts[static_cast<std::int32_t>(token)] / double{kDraws}, shares[token], 1e-3) << "token " << token;
}

TEST(TokenChoice, draws_with_the_probabilities_of_softmax) { expect_shares({1, 0, 1}, {0.1, 0.4, 0.3, 0.2}); }

TEST(TokenChoice, of_another_temperature_draws_with_powers_of_them) {
  const double sum = 0.01 + 0.16 + 0.09 + 0.04;
  expect_shares({0.5, 0, 1}, {0.01 / sum, 0.16 / sum, 0.09 / sum, 0.04 / sum});
}

TEST(TokenChoice, of_temperature_0_takes_the_most_probable_token) {
  expect_shares({0, 0, 1}, {0, 1, 0, 0});
  EXPECT_EQ(choose_token(std::vector<float>{1, 2, 2, 0}, {0, 0, 1}, 0.99), 1);  // the first of equals
}

TEST(TokenChoice, among_the_top_k_leaves_out_the_others) {
  expect_shares({1, 1, 1}, {0, 1, 0, 0});
  expect_shares({1, 2, 1}, {0, 4.0 / 7, 3.0 / 7, 0});
  expect_shares({1, 9, 1}, {0.1, 0.4, 0.3, 0.2});
}

TEST(TokenChoice, among_the_top_p_keeps_tokens_until_their_shares_reach_it) {
  expect_shares({1, 0, 0.01}, {0, 1, 0, 0});
  expect_shares({1, 0, 0.65}, {0, 4.0 / 7, 3.0 / 7, 0});
  expect_shares({1, 0, 0.75}, {0, 4.0 / 9, 3.0 / 9, 2.0 / 9});
  expect_shares({1, 2, 0.5}, {0, 1, 0, 0});  // of the two, 4/7 and 3/7
}

TEST(TokenChoice, takes_logits_of_any_size) {
  EXPECT_EQ(choose_token(std::vector<float>{-3e38F, 3e38F}, {1, 0, 1}, 0.999), 1);
  EXPECT_EQ(choose_token(std::vector<float>{0, 0}, {1e-300, 0, 1}, 0.75), 1);
}

}  // namespace
}  // namespace eave
