// Evaluations of language models: loss, perplexity and bits per byte against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "data/tokens/token_windows.h"
#include "test/train/training.h"

namespace eave {
namespace {

constexpr int kVocabulary = 7, kWidth = 8, kContext = 6;

class CraftedTokens final : public TokenStream {
 public:
  explicit CraftedTokens(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto place = static_cast<std::uint64_t>(first) + i;
      tokens[i] = static_cast<std::int32_t>(random_words({5, Purpose::kTest, 3}, place, 0)[0] % kVocabulary);
    }
  }

 private:
  std::int64_t size_;
};

// The last window of 64 test tokens has 3 labels of 6.
constexpr std::int64_t kTrained = 200, kTested = 64, kBytes = 150;

DataSplit crafted_text() {
  const auto stream = std::make_shared<CraftedTokens>(kTrained + kTested);
  DataSplit split;
  split.train = std::make_unique<TokenWindows>(stream, 0, kTrained, kContext, kVocabulary);
  split.test = std::make_unique<TokenWindows>(stream, kTrained, kTrained + kTested, kContext, kVocabulary);
  split.test_bytes = kBytes;
  return split;
}

TrainingSetting of_text(const std::string& communicator) {
  TrainingSetting setting = setting_with(communicator, 3);
  setting.model = "embedding 8; tied_output";
  setting.augmentation = {};
  setting.batch = 4;
  setting.rate = {{"lr", "0.5"}};
  setting.plan.evaluation_batch = 4;
  return setting;
}

// The mean cross-entropy of the model over all labels of the test set. Its logits are products of rows of the one
// table, so each label depends on the token before it alone.
double loss_in_double(const DataSplit& data, const std::vector<float>& table) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(kTested));
  CraftedTokens(kTrained + kTested).read(kTrained, tokens);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    std::vector<double> logits(kVocabulary, 0.0);
    for (std::size_t token = 0; token < kVocabulary; ++token) {
      for (std::size_t k = 0; k < kWidth; ++k)
        logits[token] +=
            double{table[token * kWidth + k]} * double{table[static_cast<std::size_t>(tokens[i]) * kWidth + k]};
    }
    double all = 0;
    for (const double logit : logits) all += std::exp(logit);
    sum += std::log(all) - logits[static_cast<std::size_t>(tokens[i + 1])];
  }
  EXPECT_EQ(data.test->tokens()->labels(), std::ssize(tokens) - 1);
  return sum / static_cast<double>(tokens.size() - 1);
}

void expect_perplexity(const ModelScore& score) { EXPECT_EQ(score.accuracy, std::exp(score.loss)); }

TEST(Perplexity, is_that_of_the_mean_loss_of_all_labels_and_no_others) {
  for (const char* communicator : {"allreduce", "easgd"}) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      Training training(transport, of_text(communicator), crafted_text());
      const EvaluationRecord record = training.run().evaluation;
      const double loss = loss_in_double(training.data(), training.center());
      EXPECT_EQ(record.metric, (Metric{"perplexity", true}));
      EXPECT_NEAR(record.center.loss, loss, 1e-6 * loss) << communicator;
      EXPECT_NEAR(*record.bits_per_byte, loss / std::numbers::ln2 * kTested / kBytes, 1e-6) << communicator;
      for (const ModelScore& score : {record.center, record.workers->mean, record.workers->first, record.workers->best})
        expect_perplexity(score);
    });
  }
}

TEST(Perplexity, of_the_best_worker_is_the_lowest) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    Training training(transport, of_text("none"), crafted_text());
    const EvaluationRecord record = training.run().evaluation;
    const auto parameters = gather(transport, training.parameters());
    std::vector<double> losses;
    for (const std::vector<float>& each : parameters) losses.push_back(loss_in_double(training.data(), each));
    const auto best = std::ranges::min_element(losses);
    EXPECT_EQ(record.workers->best_rank, best - losses.begin());
    EXPECT_NEAR(record.workers->best.loss, *best, 1e-6 * *best);
  });
}

TEST(Perplexity, stays_a_number_that_files_can_hold) {
  EXPECT_EQ(perplexity_of(0), 1);
  EXPECT_EQ(perplexity_of(2.5), std::exp(2.5));
  for (const double loss : {100.0, 1e6, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_EQ(perplexity_of(loss), 1e38) << loss;
}

TEST(BitsPerByte, are_unknown_if_the_bytes_are) {
  on_ranks({"threads", 1}, [](Transport& transport) {
    DataSplit data = crafted_text();
    data.test_bytes = 0;
    Training training(transport, of_text("allreduce"), std::move(data));
    EXPECT_FALSE(training.run().evaluation.bits_per_byte);
  });
}

TEST(StopAtLoss, comes_with_the_first_evaluation_whose_loss_is_low_enough) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = of_text("allreduce");
    setting.plan.steps = 24;
    setting.plan.evaluate_every_steps = 3;
    Training whole(transport, setting, crafted_text());
    whole.run();
    // The first evaluation that has the lowest loss of all but the last evaluation.
    const auto best = std::ranges::min_element(whole.evaluations.begin(), whole.evaluations.end() - 1, {},
                                               [](const EvaluationRecord& each) { return each.center.loss; });
    setting.plan.stop_at_loss = best->center.loss;
    Training stopped(transport, setting, crafted_text());
    EXPECT_EQ(stopped.run().progress.steps, best->step);
    setting.plan.stop_at_loss = best->center.loss * 0.99;
    Training never(transport, setting, crafted_text());
    EXPECT_GT(never.run().progress.steps, best->step);
  });
}

}  // namespace
}  // namespace eave
