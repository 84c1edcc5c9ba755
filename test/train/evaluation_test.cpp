// Evaluations, and the four models whose scores they report.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/flat.h"
#include "test/train/training.h"

namespace eave {
namespace {

constexpr const char* kWithStatistics = "conv2d 4 3x3 no_bias; batch_norm; relu; global_pool; dense classes";

// A training of easgd. The 53 test samples divide evenly neither among 3 ranks nor into batches of 16.
TrainingSetting elastic() {
  TrainingSetting setting;
  setting.communicator = "easgd";
  setting.averaging = {{"tau", "3"}, {"beta", "0.5"}};
  setting.rate = {{"lr", "0.05"}};
  return setting;
}

// The reference: loss and accuracy of all samples of a set in a single batch, computed by another model on one rank.
ModelScore score_alone(Training& training, const Dataset& set, ConstSlice parameters, ConstSlice statistics) {
  Model model = training.another_model();
  Score total;
  for_each_evaluation_batch(training.data(), set, training.parts().augmentation, 0, set.size(), set.size(),
                            [&](const Batch& batch) { total = model.evaluate(batch, parameters, statistics); });
  const auto samples = static_cast<double>(total.samples);
  EXPECT_EQ(total.samples, set.size());
  return {total.loss_sum / samples, static_cast<double>(total.correct) / samples};
}

ModelScore score_alone(Training& training, ConstSlice parameters, ConstSlice statistics) {
  EXPECT_EQ(training.data().test->size(), 53);
  return score_alone(training, *training.data().test, parameters, statistics);
}

// The samples are the same, in other batches. So sums of losses round differently, and counts are equal.
void expect_same(const ModelScore& score, const ModelScore& alone, const char* which) {
  EXPECT_NEAR(score.loss, alone.loss, 1e-6 * alone.loss) << which;
  EXPECT_EQ(score.accuracy, alone.accuracy) << which;
}

std::vector<float> mean_over(const std::vector<std::vector<float>>& of_ranks) {
  std::vector<float> mean = of_ranks.front();
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += of_ranks[rank][i];
  }
  flat::scale(mean, 1.0f / static_cast<float>(of_ranks.size()));
  return mean;
}

void expect_best(const EvaluationRecord& record, const std::vector<ModelScore>& workers) {
  const auto best = std::max_element(workers.begin(), workers.end(),
                                     [](const ModelScore& a, const ModelScore& b) { return a.accuracy < b.accuracy; });
  EXPECT_EQ(record.workers->best_rank, best - workers.begin());
  expect_same(record.workers->best, *best, "best worker");
}

void expect_scores_of_one_rank(Transport& transport, const TrainingSetting& setting) {
  Training training(transport, setting);
  const EvaluationRecord record = training.run().evaluation;
  const auto parameters = gather(transport, training.parameters());
  const auto statistics = gather(transport, training.statistics());
  const std::vector<float> center = training.center(), mean = mean_over(parameters);
  const auto shared = [&](ConstSlice of) { return statistics_for(training.parts(), training.plan(), of); };
  expect_same(record.center, score_alone(training, center, shared(center)), "center");
  expect_same(record.workers->mean, score_alone(training, mean, shared(mean)), "mean of workers");
  std::vector<ModelScore> workers;
  for (std::size_t rank = 0; rank < parameters.size(); ++rank) {
    workers.push_back(score_alone(training, parameters[rank], statistics[rank]));
  }
  expect_same(record.workers->first, workers.front(), "first worker");
  expect_best(record, workers);
}

TEST(Evaluation, of_four_models_equals_that_of_one_rank_on_the_whole_test_set) {
  for (int ranks : {1, 2, 3}) {
    on_ranks({"threads", ranks}, [](Transport& transport) {
      TrainingSetting setting = elastic();
      expect_scores_of_one_rank(transport, setting);
      setting.model = kWithStatistics;
      for (const auto kind : {NormStatistics::kLocal, NormStatistics::kRecompute, NormStatistics::kAverage}) {
        setting.plan.statistics = kind;
        expect_scores_of_one_rank(transport, setting);
      }
      setting.communicator = "allreduce";
      setting.averaging = {};
      expect_scores_of_one_rank(transport, setting);
    });
  }
}

TEST(Evaluation, of_the_validation_set_is_on_its_samples_alone) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    DataSplit data = crafted_data(96, 53);
    data.validation = std::make_unique<CraftedImages>(31);
    Training training(transport, elastic(), std::move(data));
    const EvaluationRecord record = training.run().evaluation;
    ASSERT_TRUE(record.validation);
    expect_same(*record.validation, score_alone(training, *training.data().validation, training.center(), {}),
                "validation");
    EXPECT_GT(std::abs(record.validation->loss - record.center.loss), 1e-4) << "of the test set";
  });
}

TEST(Evaluation, of_elastic_workers_tells_four_models_apart) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    const EvaluationRecord record = Training(transport, elastic()).run().evaluation;
    EXPECT_NE(record.center.loss, record.workers->mean.loss);
    EXPECT_NE(record.center.loss, record.workers->first.loss);
    EXPECT_GT(record.distance_min, 0);
    EXPECT_LT(record.distance_min, record.distance_max);
  });
}

// Without the trait has_center, eave does not expect workers to differ. It measures that they do.
TEST(Evaluation, scores_the_workers_of_a_method_that_forgot_its_trait) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    Training training(transport, elastic());
    const EvaluationRecord expected = training.run().evaluation;
    TrainingParts parts = training.parts();
    parts.traits.has_center = false;
    const EvaluationRecord record = evaluate(parts, training.plan(), true);
    EXPECT_EQ(record.workers->first.loss, expected.workers->first.loss);
    EXPECT_EQ(record.workers->best.loss, expected.workers->best.loss);
    EXPECT_EQ(record.workers->mean.loss, expected.workers->mean.loss);
  });
}

TEST(Evaluation, tells_how_far_workers_are_from_the_center) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    Training training(transport, elastic());
    const EvaluationRecord record = training.run().evaluation;
    const std::vector<float> center = training.center();
    std::vector<double> distances;
    for (const std::vector<float>& worker : gather(transport, training.parameters())) {
      double between = 0, size = 0;
      for (std::size_t i = 0; i < center.size(); ++i) {
        between += (double{worker[i]} - center[i]) * (double{worker[i]} - center[i]);
        size += double{center[i]} * center[i];
      }
      distances.push_back(std::sqrt(between / size));
    }
    std::sort(distances.begin(), distances.end());
    EXPECT_NEAR(record.distance_min, distances[0], 1e-6 * distances[0]);
    EXPECT_NEAR(record.distance_mean, (distances[0] + distances[1] + distances[2]) / 3, 1e-6 * distances[1]);
    EXPECT_NEAR(record.distance_max, distances[2], 1e-6 * distances[2]);
  });
}

TEST(Evaluation, is_the_same_record_on_all_ranks_but_for_the_time_it_took) {
  for (const std::string& communicator : communicator_names(2)) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      TrainingSetting setting;
      setting.communicator = communicator;
      const EvaluationRecord record = Training(transport, setting).run().evaluation;
      EXPECT_TRUE(same_on_all_ranks(
          transport, {static_cast<float>(record.center.loss), static_cast<float>(record.workers->mean.loss),
                      static_cast<float>(record.workers->best.loss), static_cast<float>(record.distance_mean)}));
    });
  }
}

TEST(Evaluation, works_with_fewer_test_samples_than_ranks) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    TrainingSetting setting = elastic();
    setting.test_samples = 2;
    const EvaluationRecord record = Training(transport, setting).run().evaluation;
    EXPECT_TRUE(record.center.accuracy == 0 || record.center.accuracy == 0.5 || record.center.accuracy == 1);
    EXPECT_GT(record.center.loss, 0);
  });
}

TEST(Evaluation, of_the_first_worker_as_the_model_of_all_takes_its_own_statistics) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = elastic();
    setting.communicator = "none";
    setting.averaging = {};
    setting.model = kWithStatistics;
    const EvaluationRecord record = Training(transport, setting).run().evaluation;
    EXPECT_NEAR(record.center.loss, record.workers->first.loss, 1e-6);
    EXPECT_GT(std::abs(record.workers->mean.loss - record.workers->first.loss), 1e-3);
  });
}

TEST(Evaluation, of_the_center_changes_neither_workers_nor_center) {
  for (const std::string& communicator : communicator_names(2)) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      TrainingSetting setting = elastic();
      setting.communicator = communicator;
      setting.averaging = frequent_exchanges(communicator);
      setting.model = kWithStatistics;
      setting.plan.statistics = NormStatistics::kRecompute;
      Trained training(transport, setting);
      const std::vector<float> parameters = training.parameters(), center = training.center();
      const std::vector<float> statistics = training.statistics(), momentum = training.momentum();
      evaluate(training.parts(), training.plan(), false);
      EXPECT_EQ(training.parameters(), parameters);
      EXPECT_EQ(training.center(), center);
      EXPECT_EQ(training.statistics(), statistics);
      EXPECT_EQ(training.momentum(), momentum);
    });
  }
}

// The means and variances of the ranks are whole numbers, so all sums are exact. Rank i of 4 has mean 4i + k and
// variance i + 2k in channel k.
TEST(AverageStatistics, is_the_law_of_total_variance) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    TrainingSetting setting;
    setting.model = kWithStatistics;
    Training training(transport, setting);
    const std::vector<TensorInfo>& tensors = training.model().statistics();
    ASSERT_EQ(tensors.size(), 2u);
    std::vector<float> mine(static_cast<std::size_t>(training.model().statistics_size()));
    const auto mean_at = static_cast<std::size_t>(tensors[0].offset),
               variance_at = static_cast<std::size_t>(tensors[1].offset);
    const auto rank = static_cast<float>(transport.rank());
    for (std::size_t k = 0; k < 4; ++k) {
      mine[mean_at + k] = 4 * rank + static_cast<float>(k);
      mine[variance_at + k] = rank + static_cast<float>(2 * k);
    }
    const std::vector<float> all = average_statistics(training.model(), transport, mine);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(all[mean_at + k], 6 + static_cast<float>(k));                  // 4 · 1.5 + k
      EXPECT_EQ(all[variance_at + k], 1.5f + static_cast<float>(2 * k) + 20);  // E[variance] + 16 · Var[0, 1, 2, 3]
    }
  });
}

TEST(AverageStatistics, of_one_rank_are_its_own) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    TrainingSetting setting;
    setting.model = kWithStatistics;
    Trained training(transport, setting);
    const std::vector<float> mine = training.statistics();
    const std::vector<float> all = average_statistics(training.model(), transport, mine);
    for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_FLOAT_EQ(all[i], mine[i]);
  });
}

}  // namespace
}  // namespace eave
