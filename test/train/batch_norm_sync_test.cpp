// --batch-norm sync: with batch norm, too, p ranks with batch n train like one rank with batch pn.
#include <gtest/gtest.h>

#include <cmath>

#include "eave/agreement.h"
#include "eave/decorators.h"
#include "test/communicator/recording_transport.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

constexpr std::int64_t kBatchOfAll = 24;

struct Deal {
  int ranks = 1;
  std::int64_t samples = 0;
  friend std::ostream& operator<<(std::ostream& out, const Deal& deal) {
    return out << deal.samples << " samples on " << deal.ranks << " ranks";
  }
};

// A training with three batch norms, one of which ends a residual block, and with dropout, crop, flip and momentum.
TrainingSetting setting_of(const Deal& deal, const std::string& batch_norm) {
  TrainingSetting setting;
  setting.model =
      "conv2d 4 3x3 pad 1 no_bias; batch_norm; relu; residual(conv2d 4 3x3 pad 1 no_bias; batch_norm; relu; conv2d 4 "
      "3x3 pad 1 no_bias; batch_norm); relu; max_pool 2; flatten; dense 16; relu; dropout 0.5; dense classes";
  setting.samples = deal.samples;
  setting.batch = kBatchOfAll / deal.ranks;
  setting.averaging = {{"batch-norm", batch_norm}, {"bucket-bytes", "4096"}};
  setting.plan.steps = 10;
  return setting;
}

struct SyncedEnd {
  std::vector<float> parameters, statistics;
  std::vector<double> losses;  // of all ranks, by step
};

// Trains on `ranks` threads. Returns the results of all ranks.
std::vector<SyncedEnd> train_in(const TrainingSetting& setting, int ranks) {
  return on_each_rank({"threads", ranks}, [&](Transport& transport) {
    Trained training(transport, setting);
    SyncedEnd end{training.parameters(), training.statistics(), {}};
    Sampler sampler(Sampling::kShard, setting.samples, ranks, setting.batch, setting.seed, {});
    for (std::size_t i = 0; i < training.steps.size(); ++i) {
      const std::int64_t in_epoch = static_cast<std::int64_t>(i) % sampler.steps_per_epoch();
      const auto mine = static_cast<double>(sampler.samples(in_epoch, transport.rank()));
      const double loss = mine > 0 ? training.steps[i].loss * mine : 0;
      end.losses.push_back(sum_over_ranks(transport, {loss}).front() /
                           static_cast<double>(sampler.samples_of_all_ranks(in_epoch)));
    }
    return end;
  });
}

class BatchNormSync : public testing::TestWithParam<Deal> {};

// Rounding errors are 6e-8 of each number and grow from step to step, so the bound is 1e-5. After ten steps, ranks that
// each use the moments of their own batch are a thousand times as far apart.
TEST_P(BatchNormSync, p_ranks_at_batch_n_equal_one_rank_at_batch_pn) {
  const Deal deal = GetParam();
  const SyncedEnd one = train_in(setting_of({1, deal.samples}, "per-rank"), 1).front();
  const std::vector<SyncedEnd> ranks = train_in(setting_of(deal, "sync"), deal.ranks);
  const SyncedEnd own = train_in(setting_of(deal, "per-rank"), deal.ranks).front();
  ASSERT_EQ(one.losses.size(), 10u);
  const SyncedEnd& first = ranks.front();
  EXPECT_LT(relative_distance(first.parameters, one.parameters), 1e-5);
  EXPECT_LT(relative_distance(first.statistics, one.statistics), 1e-5);
  EXPECT_LT(relative_distance(first.losses, one.losses), 1e-5);
  EXPECT_GT(relative_distance(own.parameters, one.parameters), 1e-2);
  EXPECT_GT(relative_distance(own.statistics, one.statistics), 1e-2);
  for (const SyncedEnd& end : ranks) {
    EXPECT_EQ(end.parameters, first.parameters);
    EXPECT_EQ(end.statistics, first.statistics);
  }
}

// 96 samples divide evenly. With 109 samples, the last step of an epoch has 13. With 97 it has one, so most ranks have
// none.
INSTANTIATE_TEST_SUITE_P(Ranks, BatchNormSync,
                         testing::Values(Deal{2, 96}, Deal{2, 109}, Deal{2, 97}, Deal{4, 96}, Deal{4, 109},
                                         Deal{4, 97}),
                         [](const auto& each) {
                           return std::to_string(each.param.samples) + "_on_" + std::to_string(each.param.ranks);
                         });

TEST(BatchNormSyncOnce, of_one_rank_has_the_bits_of_per_rank) {
  const Deal alone{1, 97};
  EXPECT_EQ(train_in(setting_of(alone, "sync"), 1).front().parameters,
            train_in(setting_of(alone, "per-rank"), 1).front().parameters);
}

TEST(BatchNormSyncOnce, repeats_its_bits) {
  const Deal deal{3, 97};
  EXPECT_EQ(train_in(setting_of(deal, "sync"), 3).front().parameters,
            train_in(setting_of(deal, "sync"), 3).front().parameters);
}

// A rank without samples asks for the same sums as other ranks, in the same order among the buckets of gradients.
TEST(BatchNormSyncOnce, all_ranks_ask_for_the_same_sums_and_two_of_each_layer) {
  std::vector<std::string> texts(4);
  on_ranks({"threads", 4}, [&](Transport& transport) {
    RecordingTransport recording(transport);
    TrainingSetting setting = setting_of({4, 97}, "sync");
    setting.plan.steps = 5;
    Training training(recording, setting);
    training.at_step = [&](const StepRecord& step) {
      if (step.step == 4) recording.calls.clear();
      if (step.step == 5) texts[static_cast<std::size_t>(transport.rank())] = recording.text();
    };
    training.run();
  });
  for (const std::string& text : texts) EXPECT_EQ(text, texts.front());
  const auto count = [&](const std::string& call) {
    std::size_t found = 0;
    for (std::size_t at = texts[0].find(call); at != std::string::npos; at = texts[0].find(call, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("sum 36\n"), 3u) << "4 ranks x (2 x 4 channels + 1)\n" << texts[0];
  EXPECT_EQ(count("sum 8\n"), 3u) << texts[0];
}

TEST(BatchNormSyncOnce, statistics_are_held_equal_on_all_ranks_as_parameters_are) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    Trained training(transport, setting_of({2, 97}, "sync"));
    ASSERT_EQ(training.communicator().replicated().size(), 3u) << "parameters, velocity, statistics";
    const std::vector<float> shown = statistics_for_consensus(training.parts(), training.plan());
    EXPECT_EQ(shown, training.statistics());
  });
}

TEST(BatchNormSyncOnce, replicas_are_equal_if_one_rank_becomes_more) {
  for (const int ranks : {2, 4}) {
    const TemporaryDirectory temporary;
    TrainingSetting setting = setting_of({1, 96}, "sync");
    setting.plan.checkpoints.directory = temporary.path();
    train_in(setting, 1);
    setting.batch = kBatchOfAll / ranks;
    setting.plan.first_step = setting.plan.elastic_step = 10;
    setting.plan.steps = 13;
    on_ranks({"threads", ranks}, [&](Transport& transport) {
      Trained training(transport, setting);
      for (const Slice each : training.communicator().replicated())
        EXPECT_TRUE(same_on_all_ranks(transport, std::vector<float>(each.begin(), each.end())));
    });
  }
}

// A step waits for six sums within its passes, each of which takes 20 ms. The test asks for half of this time, because
// a thread may begin to wait late.
TEST(BatchNormSyncOnce, waiting_for_moments_is_counted_as_waiting) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    const std::unique_ptr<Transport> slow = make_shaped_transport(transport, {.delay_seconds = 0.02});
    TrainingSetting setting = setting_of({2, 96}, "sync");
    setting.plan.steps = 4;
    Trained training(*slow, setting);
    double waiting = 0;
    for (const StepRecord& step : training.steps) waiting += step.waiting;
    EXPECT_GT(waiting, 4 * 6 * 0.02 / 2);
  });
}

// If the loss of one rank is not finite, all ranks leave the step out.
TEST(BatchNormSyncOnce, loss_that_is_not_finite_reaches_no_other_rank) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting setting = setting_of({3, 96}, "sync");
    if (transport.rank() == 1) setting.plan.fault = {InjectedFault::Kind::kNanLoss, 4, 0, 0};
    Training training(transport, setting);
    std::vector<std::vector<float>> parameters;
    training.at_step = [&](const StepRecord& step) {
      parameters.push_back(training.parameters());
      EXPECT_EQ(std::isnan(step.loss), transport.rank() == 1 && step.step == 5);
      EXPECT_EQ(step.nonfinite, step.step == 5 ? 1 : 0);
    };
    training.run();
    ASSERT_EQ(parameters.size(), 10u);
    EXPECT_EQ(parameters[4], parameters[3]);
    EXPECT_NE(parameters[5], parameters[4]);
    const std::vector<float> statistics = training.statistics();
    for (const float value : parameters.back()) ASSERT_TRUE(std::isfinite(value));
    for (const float value : statistics) ASSERT_TRUE(std::isfinite(value));
    EXPECT_TRUE(same_on_all_ranks(transport, parameters.back()));
    EXPECT_TRUE(same_on_all_ranks(transport, statistics));
  });
}

TEST(BatchNormSyncOnce, is_refused_with_reproducible) {
  TrainingSetting setting = setting_of({2, 96}, "sync");
  setting.averaging.emplace_back("reproducible", "on");
  const EndedJob ended = run_job(2, [&](Transport& transport) { Training training(transport, setting); });
  EXPECT_EQ(ended.code, 64);
  for (const std::string& message : ended.messages) {
    EXPECT_NE(message.find("--batch-norm sync"), std::string::npos) << message;
    EXPECT_NE(message.find("--reproducible"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace eave
