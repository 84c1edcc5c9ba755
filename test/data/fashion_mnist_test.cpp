// Reads the real files of Fashion-MNIST, if they are installed.
#include <gtest/gtest.h>

#include "test/data/data_files.h"
#include "test/data/moments.h"

namespace eave {
namespace {

TEST(FashionMnist, has_the_published_sizes_class_counts_and_moments) {
  DataSplit split;
  const Refusal found = refusal_of([&] { split = open_dataset("fashion-mnist", {}); });
  if (found.code == ExitCode::kInputMissing) GTEST_SKIP() << found;
  ASSERT_EQ(found.code, ExitCode::kDone) << found;
  ASSERT_EQ(split.train->size(), 60000);
  ASSERT_EQ(split.test->size(), 10000);
  ASSERT_EQ(split.train->shape(), (ImageShape{28, 28, 1}));
  EXPECT_EQ(class_counts(*split.train), std::vector<std::int64_t>(10, 6000));
  EXPECT_EQ(class_counts(*split.test), std::vector<std::int64_t>(10, 1000));
  const Moments moments = moments_of(*split.train);
  EXPECT_NEAR(moments.mean[0], split.mean[0], 5e-5) << "the constants have four digits";
  EXPECT_NEAR(moments.deviation[0], split.deviation[0], 5e-5);
}

}  // namespace
}  // namespace eave
