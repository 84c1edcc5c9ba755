// Reports of the trainer that depend on time: glances, and records of rank 0 within a second.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "eave/job.h"
#include "test/train/training.h"

namespace eave {
namespace {

// A dataset whose samples take 5 ms each to read, so a batch of 8 takes 40 ms.
class SlowImages final : public CraftedImages {
 public:
  using CraftedImages::CraftedImages;
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CraftedImages::read(index, pixels);
  }
};

DataSplit slow_data(const TrainingSetting& setting) {
  DataSplit data = crafted_data(setting.samples, setting.test_samples);
  data.train = std::make_unique<SlowImages>(setting.samples);
  return data;
}

TEST(Glances, come_by_the_clock_whatever_the_steps_per_record) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    setting.plan.steps = 30;
    setting.plan.log_every_steps = 1000;
    Training training(transport, setting, slow_data(setting));
    const double seconds = training.run().progress.seconds;
    ASSERT_GT(seconds, 1);
    EXPECT_EQ(training.steps.size(), 1u);
    EXPECT_LE(static_cast<double>(training.glances.size()), seconds / 0.2);
    EXPECT_GE(static_cast<double>(training.glances.size()), seconds / 0.2 / 2) << "half, on a machine with much to do";
    std::int64_t last = 0;
    for (const StepRecord& glance : training.glances) {
      EXPECT_GT(glance.step, last);
      EXPECT_EQ(glance.samples, glance.step * 16);
      EXPECT_TRUE(std::isfinite(glance.loss));
      last = glance.step;
    }
  });
}

using RecordsOfRank = std::pair<int, std::vector<StepRecord>>;

std::vector<std::vector<StepRecord>> join_of_ranks(const std::vector<RecordsOfRank>& told, int ranks) {
  std::vector<std::vector<StepRecord>> joined(static_cast<std::size_t>(ranks));
  for (const auto& [rank, records] : told) {
    auto& all = joined.at(static_cast<std::size_t>(rank));
    all.insert(all.end(), records.begin(), records.end());
  }
  return joined;
}

std::vector<float> losses(const std::vector<StepRecord>& records) {
  std::vector<float> values;
  for (const StepRecord& record : records) values.push_back(static_cast<float>(record.loss));
  return values;
}

class Records : public OfMethods {};

TEST_P(Records, come_to_rank_0_as_each_rank_told_them) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting these = setting();
    these.plan.evaluate_every_steps = 5;
    Trained training(transport, these);
    EXPECT_EQ(training.evaluations.size(), 3u);  // after steps 5, 10 and 12
    const std::vector<std::vector<float>> all = gather(transport, losses(training.steps));
    if (transport.rank() != 0) {
      EXPECT_TRUE(training.records.empty());
      return;
    }
    const auto of_ranks = join_of_ranks(training.records, 3);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(losses(of_ranks[rank]), all[rank]);
      for (std::size_t i = 0; i < of_ranks[rank].size(); ++i)
        EXPECT_EQ(of_ranks[rank][i].step, static_cast<std::int64_t>(i) + 1);
    }
  });
}

TEST_P(Records, come_to_rank_0_also_where_evaluations_are_rare) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting these = setting();
    these.model = "flatten; dense classes";
    these.batch = 1;
    these.plan.steps = 2100;
    these.plan.records_untold = 1000;
    Training training(transport, these);
    const std::int64_t bytes = training.run().progress.bytes;
    std::int64_t told = 0;
    for (const StepRecord& step : training.steps) told += step.bytes;
    EXPECT_EQ(told, bytes);
    std::vector<std::int64_t> ends;
    for (const auto& [rank, records] : training.records) {
      if (rank == 1) ends.push_back(records.back().step);
    }
    if (transport.rank() != 0) return;
    EXPECT_EQ(ends, (std::vector<std::int64_t>{1000, 2000, 2100}));
    EXPECT_EQ(join_of_ranks(training.records, 2)[0].size(), 2100u);
  });
}

// 50 steps of 40 ms without an evaluation before the end. A record may wait for the next one if that would come within
// the second, assuming that the next step takes as long as the last. The test uses the records' own times, so that a
// busy machine may hold up a step.
TEST_P(Records, of_rank_0_come_within_a_second) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting these = setting();
    these.plan.steps = 50;
    Training training(transport, these, slow_data(these));
    double latest = 0;  // the greatest age that unreported records would have reached at the end of the next step
    training.at_step = [&](const StepRecord& record) {
      const std::vector<StepRecord>& steps = training.steps;  // includes this record
      const std::int64_t told = training.records.empty() ? 0 : training.records.back().second.back().step;
      const std::size_t before = steps.size() - 2;
      if (record.step <= told + 2) return;
      const double from = told == 0 ? 0 : steps[static_cast<std::size_t>(told) - 1].seconds;
      latest = std::max(latest, 2 * steps[before].seconds - steps[before - 1].seconds - from);
    };
    const double seconds = training.run().progress.seconds;
    ASSERT_GT(seconds, 1.9);
    if (transport.rank() != 0) return;
    EXPECT_GT(latest, 0.5) << "they are told sooner than they need be";
    EXPECT_LT(latest, 1.01);
  });
}

TEST_P(Records, of_rank_0_come_also_when_training_fails) {
  int told = 0;
  const auto fails = [&](Transport& transport) {
    Training training(transport, setting());
    training.at_step = [](const StepRecord& record) {
      if (record.step == 7) throw Error(ExitCode::kInternal, "thrown by the test");
    };
    EXPECT_THROW(training.run(), Error);
    for (const auto& [rank, records] : training.records) told += static_cast<int>(records.size());
  };
  EXPECT_EQ(find_kind(transport_kinds(), "loopback").run(1, fails), 0);
  EXPECT_EQ(told, 7);
}

INSTANTIATE_TEST_SUITE_P(With, Records, testing::ValuesIn(communicator_names(2)), in_identifiers);

}  // namespace
}  // namespace eave
