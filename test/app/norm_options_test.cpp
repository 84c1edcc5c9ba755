#include "app/options/norm_options.h"

#include <gtest/gtest.h>

#include "eave/check.h"

namespace eave {
namespace {

constexpr std::int64_t kDense = 1, kImage = 49;  // pixels that batch norm sees

TEST(NormBatches, of_one_value_are_refused) {
  EXPECT_THROW(check_norm_batches(kDense, 1, 1), Error);
  EXPECT_THROW(check_norm_batches(kDense, 1, 7), Error);
  EXPECT_EQ(check_norm_batches(kDense, 2, 2), "");
}

TEST(NormBatches, of_one_image_have_many_values) { EXPECT_EQ(check_norm_batches(kImage, 1, 1), ""); }
TEST(NormBatches, matter_only_to_batch_norm) { EXPECT_EQ(check_norm_batches(0, 1, 1), ""); }

TEST(NormBatches, that_end_an_epoch_with_one_sample_are_warned_of) {
  EXPECT_NE(check_norm_batches(kDense, 32, 1).find("last step"), std::string::npos);
  EXPECT_EQ(check_norm_batches(kImage, 32, 1), "");
}

}  // namespace
}  // namespace eave
