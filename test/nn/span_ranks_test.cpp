// Batch norm over the batches of several ranks, against a reference in double with all samples in one batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "central_differences.h"
#include "fixture.h"
#include "reference.h"

namespace eave {
namespace {

// A stand-in for a transport: ranks are threads that make the same calls, and each call waits for all of them.
class Meeting {
 public:
  explicit Meeting(int ranks) : all_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}

  class Member final : public MomentExchange {
   public:
    Member(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}
    ConstSlice gather(ConstSlice mine) override {
      meeting_.meet(rank_, mine);
      gathered_.clear();
      for (const auto& values : meeting_.all_) gathered_.insert(gathered_.end(), values.begin(), values.end());
      meeting_.barrier_.arrive_and_wait();
      log += "gather " + std::to_string(mine.size()) + "; ";
      return gathered_;
    }
    void sum(Slice values) override {
      meeting_.meet(rank_, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 0;
        for (const auto& each : meeting_.all_) values[i] += each.at(i);
      }
      meeting_.barrier_.arrive_and_wait();
      log += "sum " + std::to_string(values.size()) + "; ";
    }
    std::string log;

   private:
    Meeting& meeting_;
    const std::size_t rank_;
    std::vector<float> gathered_;
  };

 private:
  void meet(std::size_t rank, ConstSlice values) {
    all_[rank].assign(values.begin(), values.end());
    barrier_.arrive_and_wait();
  }

  std::vector<std::vector<float>> all_;
  std::barrier<> barrier_;
};

struct Case {
  const char* name;
  const char* text;
  ImageShape input;
  std::vector<std::int64_t> samples;  // batch size of each rank
};

constexpr int kClassesOfAll = 3;
constexpr std::int64_t kFirst = 100;

std::int64_t all_samples(const Case& c) {
  std::int64_t all = 0;
  for (const std::int64_t of_rank : c.samples) all += of_rank;
  return all;
}

std::int64_t first_sample(const Case& c, std::size_t rank) {
  std::int64_t first = kFirst;
  for (std::size_t i = 0; i < rank; ++i) first += c.samples[i];
  return first;
}

struct OfRank {
  std::vector<float> gradients, statistics;
  double loss_sum = 0;
  std::string log;
};

// One step of every rank, from the same parameters. `prepare` may change a rank's batch.
std::vector<OfRank> train_on_ranks(const Case& c, bool over_all = true,
                                   const std::function<void(std::size_t, TestModel&, TestBatch&)>& prepare = {}) {
  const std::size_t ranks = c.samples.size();
  std::vector<OfRank> ends(ranks);
  Meeting meeting(static_cast<int>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      TestModel test(c.text, c.input, kClassesOfAll, 16);
      for (std::size_t i = 0; i < test.parameters.size(); ++i) test.parameters[i] += 0.05f * std::sin(float(i) + 1);
      TestBatch data(c.input, kClassesOfAll, c.samples[rank], first_sample(c, rank), 3);
      Meeting::Member member(meeting, rank);
      if (over_all) test.model.normalise_over(member);
      if (prepare) prepare(rank, test, data);
      const auto weight = static_cast<float>(c.samples[rank]) / static_cast<float>(all_samples(c));
      ends[rank].loss_sum = test.train(data.batch, weight).loss_sum;
      ends[rank].gradients = test.gradients;
      ends[rank].statistics = test.statistics;
      ends[rank].log = member.log;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ends;
}

std::vector<double> sum_of_gradients(const std::vector<OfRank>& ends) {
  std::vector<double> sum(ends.front().gradients.size());
  for (const OfRank& end : ends) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += end.gradients[i];
  }
  return sum;
}

class SpanRanks : public ::testing::TestWithParam<Case> {};

TEST_P(SpanRanks, gradients_equal_central_differences_of_one_batch_in_double) {
  const Case& c = GetParam();
  const std::vector<OfRank> ends = train_on_ranks(c);
  const std::vector<double> gradients = sum_of_gradients(ends);
  TestModel test(c.text, c.input, kClassesOfAll, 16);
  const TestBatch data(c.input, kClassesOfAll, all_samples(c), kFirst, 3);
  std::vector<double> point(test.parameters.size());
  for (std::size_t i = 0; i < point.size(); ++i) point[i] = test.parameters[i] + 0.05f * std::sin(float(i) + 1);
  const auto loss = [&] {
    return reference_loss(c.text, c.input, kClassesOfAll, data.batch, 5, test.model.parameters(), point).loss;
  };
  const double here = loss();
  double loss_sum = 0;
  for (const OfRank& end : ends) loss_sum += end.loss_sum;
  EXPECT_NEAR(loss_sum / static_cast<double>(all_samples(c)), here, 1e-5 * (1 + here));
  expect_central_differences(test.model.parameters(), point, loss, gradients);
}

// One rank with all samples moves the averages equally, up to rounding: about 1e-7 of values near 1.
TEST_P(SpanRanks, running_averages_are_one_ranks_and_the_same_bits_on_all) {
  const Case& c = GetParam();
  const std::vector<OfRank> ends = train_on_ranks(c);
  const Case one{c.name, c.text, c.input, {all_samples(c)}};
  const std::vector<float> expected = train_on_ranks(one, false).front().statistics;
  ASSERT_FALSE(expected.empty());
  for (const OfRank& end : ends) EXPECT_EQ(end.statistics, ends.front().statistics);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(ends.front().statistics[i], expected[i], 1e-6) << i;
}

TEST_P(SpanRanks, without_it_ranks_compute_something_else) {
  const Case& c = GetParam();
  const std::vector<double> over_all = sum_of_gradients(train_on_ranks(c));
  const std::vector<double> own = sum_of_gradients(train_on_ranks(c, false));
  double largest = 0, away = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    largest = std::max(largest, std::abs(over_all[i]));
    away = std::max(away, std::abs(over_all[i] - own[i]));
  }
  EXPECT_GT(away, 1e-2 * largest);
}

// If one rank sent a message that another does not expect, the ranks would hang or confuse messages.
TEST_P(SpanRanks, meet_in_the_same_order_also_without_samples) {
  const std::vector<OfRank> ends = train_on_ranks(GetParam());
  EXPECT_NE(ends.front().log.find("gather"), std::string::npos);
  EXPECT_NE(ends.front().log.find("sum"), std::string::npos);
  for (const OfRank& end : ends) EXPECT_EQ(end.log, ends.front().log);
}

const Case kCasesOfRanks[] = {
    {"even",
     "conv2d 5 3x3; batch_norm; relu; conv2d 33 2x2; batch_norm; relu; global_pool; dense classes",
     {5, 5, 2},
     {3, 3}},
    {"uneven", "dense 6; batch_norm; relu; dense classes", {1, 1, 5}, {7, 2, 4}},
    {"no_samples", "conv2d 4 3x3; batch_norm; relu; dropout 0.3; dense classes", {5, 5, 2}, {4, 0, 3}},
    {"first_without_samples", "conv2d 4 3x3; batch_norm; relu; dense classes", {5, 5, 2}, {0, 3, 2}},
    {"first_layer", "batch_norm; conv2d 4 3x3; relu; dense classes", {5, 5, 3}, {3, 2}},
    {"residual",
     "conv2d 4 3x3; batch_norm; relu; residual(conv2d 4 3x3 pad 1; batch_norm; relu; conv2d 4 3x3 pad 1; batch_norm); "
     "relu; global_pool; dense classes",
     {6, 6, 2},
     {3, 2, 0, 1}},
};

INSTANTIATE_TEST_SUITE_P(Layers, SpanRanks, ::testing::ValuesIn(kCasesOfRanks),
                         [](const auto& which) { return std::string(which.param.name); });

const Case kPlain{"plain", "dense 6; batch_norm; relu; dense classes", {1, 1, 5}, {4, 5, 3}};

// The middle rank's batch holds a NaN. The other ranks must then compute finite values, the same as without that rank.
TEST(SpanRanksOnce, moments_that_are_not_finite_count_as_those_of_no_rows) {
  const auto spoil = [](std::size_t rank, TestModel& test, TestBatch& data) {
    test.model.leave_out_nonfinite_batches();
    if (rank == 1) data.inputs[3] = std::numeric_limits<float>::quiet_NaN();
  };
  const std::vector<OfRank> ends = train_on_ranks(kPlain, true, spoil);
  Case without = kPlain;
  without.samples[1] = 0;
  // Without the middle rank the last rank would draw other samples; it must keep those of the first run.
  const TestBatch third(kPlain.input, kClassesOfAll, 3, first_sample(kPlain, 2), 3);
  const auto keep_third = [&](std::size_t rank, TestModel&, TestBatch& data) {
    if (rank != 2) return;
    std::ranges::copy(third.inputs, data.inputs.begin());
    std::ranges::copy(third.labels, data.labels.begin());
  };
  const std::vector<OfRank> expected = train_on_ranks(without, true, keep_third);
  EXPECT_TRUE(std::isnan(ends[1].loss_sum));
  for (const float gradient : ends[1].gradients) EXPECT_TRUE(std::isnan(gradient));
  for (const std::size_t rank : {0u, 2u}) {
    EXPECT_EQ(ends[rank].statistics, expected[rank].statistics);
    EXPECT_EQ(ends[rank].loss_sum, expected[rank].loss_sum);
    // The ranks weight their gradients by shares of 12 samples; without the middle rank, by shares of 7.
    for (std::size_t i = 0; i < ends[rank].gradients.size(); ++i) {
      EXPECT_NEAR(ends[rank].gradients[i] * 12, expected[rank].gradients[i] * 7, 1e-5) << i;
    }
  }
  EXPECT_EQ(ends[1].statistics, ends[0].statistics);
}

TEST(SpanRanksOnce, without_any_finite_moments_running_averages_stay) {
  const auto spoil = [](std::size_t, TestModel& test, TestBatch& data) {
    test.model.leave_out_nonfinite_batches();
    data.inputs[3] = std::numeric_limits<float>::infinity();
  };
  TestModel fresh(kPlain.text, kPlain.input, kClassesOfAll, 16);
  for (const OfRank& end : train_on_ranks(kPlain, true, spoil)) {
    EXPECT_FALSE(std::isfinite(end.loss_sum));
    EXPECT_EQ(end.statistics, fresh.statistics);
  }
}

// With a mean of 10,000 and a deviation of 1, a variance from sums of squares in float32 would be all rounding error.
TEST(SpanRanksOnce, nothing_is_cancelled_where_means_are_large) {
  const Case large{"large", "batch_norm; dense classes", {1, 1, 5}, {6, 7}};
  const auto shift = [](std::size_t, TestModel&, TestBatch& data) {
    for (float& value : data.inputs) value += 10000;
  };
  const std::vector<OfRank> ends = train_on_ranks(large, true, shift), around_0 = train_on_ranks(large);
  TestModel test(large.text, large.input, kClassesOfAll, 16);
  const TensorInfo& variance = test.model.statistics()[1];
  for (std::int64_t i = variance.offset; i < variance.offset + variance.size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(ends[0].statistics[at], around_0[0].statistics[at], 2e-3) << "inputs are rounded to 1e-3";
  }
}

}  // namespace
}  // namespace eave
