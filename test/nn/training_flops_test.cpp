#include "nn/training_flops.h"

#include <gtest/gtest.h>

#include "eave/model.h"

namespace eave {
namespace {

// Blocks of GPT-2 have 12 width² weights: 3 for queries, keys and values, 1 for their output, and 8 in the two layers
// behind. The output multiplies by the table of tokens. Positions are only looked up.
TEST(TrainingFlops, are_those_of_palm_for_models_of_published_sizes) {
  const double vocabulary = 256, width = 128, layers = 4, positions = 64;
  const double weights = layers * 12 * width * width + vocabulary * width;
  EXPECT_EQ(training_flops_per_token(model_specification("nanogpt-cpu"), {64, 1, 1}, 256),
            6 * weights + 12 * layers * width * positions);
  const double of_gpt2 = 12.0 * 12 * 768 * 768 + 50257.0 * 768;
  EXPECT_EQ(training_flops_per_token(model_specification("gpt2"), {1024, 1, 1}, 50257),
            6 * of_gpt2 + 12.0 * 12 * 768 * 1024);
}

TEST(TrainingFlops, count_groups_and_gates) {
  // llama-tiny: 8 heads of width 8, 4 groups; queries, keys and values are 64 + 2 × 32 wide.
  const double block = 64 * 128 + 64 * 64 + 64 * 344 + 172 * 64;
  EXPECT_EQ(training_flops_per_token(model_specification("llama-tiny"), {32, 1, 1}, 512),
            6 * (5 * block + 512 * 64) + 12.0 * 5 * 64 * 32);
}

TEST(TrainingFlops, leave_out_a_table_that_is_only_looked_up) {
  EXPECT_EQ(training_flops_per_token("embedding 8; linear classes", {4, 1, 1}, 10), 6.0 * 8 * 10);
}

}  // namespace
}  // namespace eave
