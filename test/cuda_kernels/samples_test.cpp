// The passes that depend on the samples of a batch: dropout and the loss.
#include <gtest/gtest.h>

#include "eave/batch.h"
#include "kernels/cpu/tokens.h"
#include "kernels/cuda/layers.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaSamples : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaSamples, Types);

TYPED_TEST(CudaSamples, dropout_keeps_what_the_cpu_keeps) {
  using T = TypeParam;
  const TestStream stream;
  for (const std::int64_t size : {1, 8, 129, 2048, 2050, 70000}) {
    const std::vector<std::int64_t> indices = {5, 0, 70000, 5};
    const auto samples = static_cast<std::int64_t>(indices.size());
    const auto x = some_numbers<T>(static_cast<std::size_t>(samples * size), 1);
    OnDevice<T> x_there(stream, as<T>(x));
    OnDevice<std::int64_t> indices_there(stream, indices);
    OnDevice<PassBlock> block(stream, std::vector<PassBlock>{{99, 12345, 1, static_cast<int>(samples)}});
    dropout<T>(stream, {samples, size, 0.3f, 2}, block.data(), indices_there.data(), x_there.data(), x_there.data());
    std::vector<float> expected(x.size());
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto counter =
          (std::uint64_t{12345} << 32) ^ static_cast<std::uint64_t>(indices[static_cast<std::size_t>(i)]);
      cpu::dropout({99, Purpose::kDropout, 2}, counter, 0.3f, size, x.data() + i * size, expected.data() + i * size);
    }
    expect_rounded(x_there.read(), expected);
  }
}

struct Found {
  LossTotals totals;
  std::vector<float> d_logits;
};

template <class T>
Found loss_of(const TestStream& stream, std::int64_t rows, std::int64_t classes, std::int64_t samples,
              const std::vector<float>& logits, const std::vector<std::int32_t>& labels, std::int64_t targets = 1,
              float smoothing = 0) {
  OnDevice<T> logits_there(stream, as<T>(logits)), d_logits(stream, logits.size());
  OnDevice<std::int32_t> labels_there(stream, labels);
  OnDevice<PassBlock> block(stream, std::vector<PassBlock>{{0, 0, 0.25f, static_cast<std::int32_t>(samples)}});
  const Loss shape = {rows, classes, targets, smoothing};
  OnDevice<double> scratch(stream, static_cast<std::size_t>(loss_scratch(shape)));
  OnDevice<LossTotals> totals(stream, 1);
  softmax_cross_entropy<T>(stream, shape, 0, rows, block.data(), labels_there.data(), logits_there.data(),
                           d_logits.data(), scratch.data());
  sum_losses(stream, shape, scratch.data(), totals.data());
  return {totals.read()[0], to_floats(d_logits.read())};
}

std::vector<std::int32_t> some_labels(std::int64_t rows, std::int64_t classes) {
  RandomStream random({3, Purpose::kTest, 0}, 0);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < rows; ++i) {
    labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(classes))));
  }
  return labels;
}

TYPED_TEST(CudaSamples, loss_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const std::int64_t rows : {1, 65, 300}) {
    for (const std::int64_t classes : {1, 2, 10, 100, 1000}) {
      auto logits = some_numbers<T>(static_cast<std::size_t>(rows * classes), 1, 3);
      if (classes == 10) {
        for (float& logit : logits) logit = std::round(logit);  // makes ties, which the first class wins
      }
      const auto labels = some_labels(rows, classes);
      std::vector<float> d_logits(logits.size());
      const auto expected =
          cpu::softmax_cross_entropy(logits.data(), labels.data(), rows, classes, {0.25f}, d_logits.data());
      const Found found = loss_of<T>(stream, rows, classes, rows, logits, labels);
      // The exponential errs by at most 2 units in the last place.
      EXPECT_NEAR(found.totals.loss, expected.loss, 1e-6 * expected.loss + 1e-6);
      EXPECT_EQ(found.totals.correct, expected.correct);
      expect_near(found.d_logits, d_logits, kRounding<T>, 1e-6);
      const Found again = loss_of<T>(stream, rows, classes, rows, logits, labels);
      EXPECT_EQ(found.totals.loss, again.totals.loss);
    }
  }
}

// Windows of 13 tokens, a vocabulary that fills no packet, and labels that count for nothing.
TYPED_TEST(CudaSamples, smoothed_loss_of_tokens_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  constexpr std::int64_t kSamples = 5, kTargets = 13, kRows = kSamples * kTargets;
  for (const std::int64_t classes : {1, 11, 1003}) {
    for (const float smoothing : {0.0f, 0.1f, 0.6f}) {
      const auto logits = some_numbers<T>(static_cast<std::size_t>(kRows * classes), 1, 3);
      auto labels = some_labels(kRows, classes);
      for (std::size_t i = 0; i < labels.size(); i += 4) labels[i] = kNoLabel;
      std::vector<float> d_logits(logits.size());
      const LossTotals expected =
          cpu::token_cross_entropy(logits.data(), labels.data(), kRows, classes, {0.25f, smoothing}, d_logits.data());
      const Found found = loss_of<T>(stream, kRows, classes, kSamples, logits, labels, kTargets, smoothing);
      EXPECT_NEAR(found.totals.loss, expected.loss, 1e-6 * expected.loss + 1e-6);
      EXPECT_EQ(found.totals.correct, expected.correct);
      expect_near(found.d_logits, d_logits, kRounding<T>, 1e-6);
      for (std::size_t i = 0; i < static_cast<std::size_t>(classes); ++i) EXPECT_EQ(found.d_logits[i], 0);
    }
  }
}

TYPED_TEST(CudaSamples, places_without_a_sample_count_for_nothing) {
  using T = TypeParam;
  const TestStream stream;
  const auto logits = some_numbers<T>(70 * 10, 1);
  auto labels = some_labels(70, 10);
  const Found of_50 = loss_of<T>(stream, 70, 10, 50, logits, labels);
  const auto expected = cpu::softmax_cross_entropy(logits.data(), labels.data(), 50, 10, {0.25f}, nullptr);
  EXPECT_NEAR(of_50.totals.loss, expected.loss, 1e-6 * expected.loss);
  EXPECT_EQ(of_50.totals.correct, expected.correct);
  for (std::size_t i = 500; i < 700; ++i) EXPECT_EQ(of_50.d_logits[i], 0);
}

TEST(CudaSamplesOfFloat, loss_of_nan_is_nan) {
  const TestStream stream;
  std::vector<float> logits(30, 1.0f);
  logits[12] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(loss_of<float>(stream, 3, 10, 3, logits, {0, 1, 2}).totals.loss));
}

}  // namespace
}  // namespace eave::cuda
