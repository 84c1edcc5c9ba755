#include "app/options/training_plan.h"

#include <gtest/gtest.h>

#include "app/main/commands.h"
#include "eave/check.h"
#include "eave/communicator.h"
#include "test/expectations.h"

namespace eave {
namespace {

constexpr std::int64_t kDense = 1, kImagePixels = 49;  // pixels that batch norm sees

TEST(NormBatches, of_one_value_are_refused) {
  EXPECT_THROW(check_norm_batches(kDense, 1, 1), Error);
  EXPECT_THROW(check_norm_batches(kDense, 1, 7), Error);
  EXPECT_EQ(check_norm_batches(kDense, 2, 2), "");
}

TEST(NormBatches, of_one_image_have_many_values) { EXPECT_EQ(check_norm_batches(kImagePixels, 1, 1), ""); }
TEST(NormBatches, matter_only_to_batch_norm) { EXPECT_EQ(check_norm_batches(0, 1, 1), ""); }

TEST(NormBatches, that_end_an_epoch_with_one_sample_are_warned_of) {
  expect_parts(check_norm_batches(kDense, 32, 1), {"last step"});
  EXPECT_EQ(check_norm_batches(kImagePixels, 32, 1), "");
}

TEST(TrainOptions, every_communicator_and_its_options_are_in_the_help) {
  const std::string help = train_command_line().help();
  for (const CommunicatorKind& kind : communicator_kinds()) {
    expect_parts(help, {kind.name});
    for (const OptionSpec& option : kind.options) EXPECT_NE(help.find("--" + option.name), std::string::npos);
  }
}

TEST(TrainOptions, weight_decay_is_of_matrices_if_the_data_are_text) {
  const auto decays = [](const std::vector<std::string>& words) {
    return train_command_line().parse(words).text("weight-decay-of");
  };
  EXPECT_EQ(decays({"--data", "text", "--weight-decay", "0.1"}), "matrices");
  EXPECT_EQ(decays({"--data", "text", "--weight-decay", "0.1", "--weight-decay-of", "all"}), "all");
  EXPECT_EQ(decays({"--data", "text"}), "all");
  EXPECT_EQ(decays({"--data", "synthetic", "--weight-decay", "0.1"}), "all");
}

TEST(TrainOptions, slow_rank_is_rank_colon_factor_x) {
  const SlowRank slow = parse_slow_rank("2:4x", 3);
  EXPECT_EQ(slow.rank, 2);
  EXPECT_EQ(slow.factor, 4);
  for (const char* text : {"2", "2:4", "3:4x", "-1:4x", "2:0.5x", "2:4xx", "x", "2:nanx", ""}) {
    EXPECT_THROW(parse_slow_rank(text, 3), Error) << text;
  }
}

}  // namespace
}  // namespace eave
