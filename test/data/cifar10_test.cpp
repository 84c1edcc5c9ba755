// Reads the real files of CIFAR-10, if they lie beside the checkout.
#include <gtest/gtest.h>

#include <cstdlib>

#include "test/data/data_files.h"
#include "test/data/moments.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

TEST(Cifar10Files, have_the_published_sizes_class_counts_and_moments) {
  const fs::path packed = fs::path(EAVE_SOURCE_DIR) / "../shared/data/cifar-10";
  if (!fs::exists(packed / "test_batch.bin.xz")) GTEST_SKIP() << "no CIFAR-10 in " << packed.lexically_normal();
  if (std::system("xz --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "xz is not installed";
  const TemporaryDirectory directory;
  const std::string unpack = "for f in " + packed.string() + "/*.bin.xz; do xz -dc \"$f\" > " +
                             directory.path().string() + "/$(basename \"$f\" .xz) || exit 1; done";
  ASSERT_EQ(std::system(unpack.c_str()), 0) << unpack;
  const DataSplit split = open_dataset("cifar10", {{"data-dir", directory.path().string()}});
  EXPECT_EQ(class_counts(*split.train), std::vector<std::int64_t>(10, 5000));
  EXPECT_EQ(class_counts(*split.test), std::vector<std::int64_t>(10, 1000));
  const Moments moments = moments_of(*split.train);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(moments.mean[channel], split.mean[channel], 5e-5) << "the constants have four digits";
    EXPECT_NEAR(moments.deviation[channel], split.deviation[channel], 1e-4);
  }
}

}  // namespace
}  // namespace eave
