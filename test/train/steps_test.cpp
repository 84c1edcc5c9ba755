// The trainer's steps: the records that it reports, learning rates, bytes, and steps without samples.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "eave/agreement.h"
#include "test/train/training.h"

namespace eave {
namespace {

class Steps : public OfMethods {};

// Maps the number of samples that all ranks have used before a step to the learning rate of this step.
std::map<std::int64_t, double> rates_by_samples(int ranks, TrainingSetting setting) {
  std::map<std::int64_t, double> rates;
  setting.plan.steps = 3 * setting.samples / (ranks * setting.batch);
  on_ranks({"threads", ranks}, [&](Transport& transport) {
    Trained training(transport, setting);
    if (transport.rank() != 0) return;
    std::int64_t seen = 0;
    for (const StepRecord& step : training.steps) {
      rates[seen] = step.learning_rate;
      seen = step.samples;
    }
  });
  return rates;
}

TEST_P(Steps, have_the_same_learning_rate_in_epoch_n_for_every_number_of_ranks) {
  const std::vector<Given> schedules = {
      {{"lr", "0.02"}, {"lr-schedule", "cosine"}, {"warmup-epochs", "1"}, {"warmup-from", "0.1"}},
      {{"lr", "0.02"}, {"lr-schedule", "step"}, {"lr-step-epochs", "1,2"}}};
  for (const Given& schedule : schedules) {
    TrainingSetting these = setting();
    these.rate = schedule;
    const std::map<std::int64_t, double> alone = rates_by_samples(1, these);
    for (int ranks : {2, 4}) {
      const std::map<std::int64_t, double> together = rates_by_samples(ranks, these);
      EXPECT_EQ(together.size(), alone.size() / static_cast<std::size_t>(ranks));
      for (const auto& [samples, rate] : together) EXPECT_EQ(rate, alone.at(samples)) << "after " << samples;
    }
    EXPECT_NE(alone.at(0), alone.at(these.samples));
  }
}

// There are 33 samples, 4 ranks and batches of 8. Every second step has one sample, so three ranks have none.
TEST_P(Steps, go_on_where_ranks_have_no_samples) {
  for (Sampling sampling : {Sampling::kShard, Sampling::kStratified, Sampling::kWhole}) {
    on_ranks({"threads", 4}, [&](Transport& transport) {
      TrainingSetting these = setting();
      these.samples = 33;
      these.sampling = sampling;
      Training training(transport, these);
      const TrainingResult result = training.run();
      EXPECT_EQ(result.progress.samples, 6 * 33);
      ASSERT_EQ(training.steps.size(), 12u);
      std::int64_t without = 0;
      for (const StepRecord& step : training.steps) without += std::isnan(step.loss);
      EXPECT_EQ(without, transport.rank() == 3 ? 0 : 6);
      for (float value : training.parameters()) ASSERT_TRUE(std::isfinite(value));
      EXPECT_TRUE(same_on_all_ranks(transport, training.center()));
    });
  }
}

TEST_P(Steps, account_for_all_their_time) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    for (std::int64_t every : {1, 3}) {
      TrainingSetting these = setting();
      these.plan.log_every_steps = every;
      these.plan.evaluate_every_steps = 5;
      Training training(transport, these);
      const TrainingResult result = training.run();
      double before = 0;
      for (const StepRecord& step : training.steps) {
        EXPECT_NEAR(step.computing + step.waiting + step.loading, step.seconds - before, 1e-9);
        for (double part : {step.computing, step.waiting, step.loading, step.exchanging}) EXPECT_GE(part, 0);
        EXPECT_GT(step.computing, 0);
        before = step.seconds;
      }
      EXPECT_GE(result.progress.seconds, before);
    }
  });
}

// Evaluations between two records exchange values, too. Their bytes must not count as bytes of training.
TEST_P(Steps, count_the_same_bytes_however_often_they_are_told_and_evaluated) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const auto bytes = [&](std::int64_t log_every, std::int64_t evaluate_every) {
      TrainingSetting these = setting();
      these.plan.log_every_steps = log_every;
      these.plan.evaluate_every_steps = evaluate_every;
      Training training(transport, these);
      const std::int64_t sent = training.run().progress.bytes;
      std::int64_t told = 0;
      for (const StepRecord& step : training.steps) told += step.bytes;
      EXPECT_EQ(sent, told);
      return sent;
    };
    const std::int64_t sent = bytes(1, 0);
    EXPECT_GT(sent, 0);
    EXPECT_EQ(bytes(1, 1), sent);
    EXPECT_EQ(bytes(3, 0), sent);
    EXPECT_EQ(bytes(3, 4), sent);
  });
}

TEST_P(Steps, of_a_slow_rank_take_so_much_longer) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting these = setting();
    these.plan.steps = 40;
    these.averaging = {};  // easgd: ranks meet every 10 steps
    if (transport.rank() == 1) these.plan.slow_factor = 8;
    Trained training(transport, these);
    double computing = 0;
    for (const StepRecord& step : training.steps) computing += step.computing;
    const std::vector<double> of_ranks = sum_over_ranks(
        transport, transport.rank() == 0 ? std::vector<double>{computing, 0} : std::vector<double>{0, computing});
    EXPECT_GT(of_ranks[1] / of_ranks[0], 2) << "8 but for noise";
  });
}

// The first exchange uses the values after three steps, before the fourth step or after the third. Until then the
// center is where all began. It moves by `share` of the distances of the iterates: alpha, or alpha / (1 - alpha) if the
// workers have been pulled already. Each step has a rate of its own.
void expect_pull_of_iterates(Transport& transport, const std::string& order, std::int64_t steps, double share) {
  TrainingSetting setting;
  setting.samples = 48;
  setting.communicator = "easgd";
  setting.averaging = {{"tau", "3"}, {"alpha", "0.2"}, {"order", order}};
  setting.optimizer = {{"momentum", "0.9"}, {"nesterov", "on"}};
  setting.rate = {{"lr", "0.05"}, {"lr-schedule", "cosine"}};
  setting.plan.steps = steps;
  Training training(transport, setting);
  std::vector<float> start, held, velocity;
  training.at_step = [&](const StepRecord& record) {
    if (record.step == 1) start = training.center();
    if (record.step != 3) return;
    held = training.parameters();
    velocity = training.momentum();
  };
  training.run();
  const auto moved_with = [&](double rate) {
    std::vector<float> iterate = held;
    for (std::size_t k = 0; k < iterate.size(); ++k) iterate[k] += static_cast<float>(0.9 * rate) * velocity[k];
    Doubles center = sum_of_all(transport, iterate);
    for (std::size_t k = 0; k < center.size(); ++k) center[k] = start[k] + share * (center[k] - 2.0 * start[k]);
    return center;
  };
  const std::vector<float> center = training.center();
  const double rate = training.steps.back().learning_rate,
               last_rate = training.steps[training.steps.size() - 2].learning_rate;
  const Doubles expected = moved_with(rate), with_last_rate = moved_with(last_rate);
  double apart = 0;
  for (std::size_t k = 0; k < center.size(); ++k) {
    EXPECT_NEAR(center[k], expected[k], 1e-6) << order << ", " << k;
    apart = std::max(apart, std::abs(expected[k] - with_last_rate[k]));
  }
  EXPECT_GT(apart, 1e-4) << "otherwise the test could not tell rates apart";
}

TEST(Eamsgd, of_the_trainer_pulls_the_iterate_at_the_rate_of_the_exchanges_step) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    expect_pull_of_iterates(transport, "paper", 4, 0.2);
    expect_pull_of_iterates(transport, "after-step", 3, 0.25);
  });
}

int exit_code(int ranks, const std::function<void(Transport&)>& body) { return run_job(ranks, body).code; }

TEST(LastStep, that_diverges_ends_the_job_with_76) {
  for (int ranks : {1, 2}) {
    const int code = exit_code(ranks, [&](Transport& transport) {
      TrainingSetting setting;
      setting.rate = {{"lr", "500000"}};
      setting.plan.steps = 2;  // the losses of both steps are finite, but the parameters after them are not
      Trained training(transport, setting);
      ADD_FAILURE() << "the test loss is " << training.evaluations.back().center.loss;
    });
    EXPECT_EQ(code, 76);
  }
}

TEST_P(Steps, that_diverge_end_the_job_with_76) {
  for (int ranks : {1, 2, 4}) {
    TrainingSetting these = setting();
    these.rate = {{"lr", "500000"}};
    these.plan.steps = 40;
    EXPECT_EQ(exit_code(ranks, [&](Transport& transport) { Training(transport, these).run(); }), 76);
  }
}

// A dataset whose read() fails after some reads, for tests in which reading fails on one rank, in one step.
class BrokenImages final : public CraftedImages {
 public:
  BrokenImages(std::int64_t size, std::int64_t reads) : CraftedImages(size), reads_left_(reads) {}
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    if (reads_left_-- == 0) throw Error(ExitCode::kInputOutput, "cannot read sample " + std::to_string(index));
    CraftedImages::read(index, pixels);
  }

 private:
  mutable std::int64_t reads_left_;
};

TEST_P(Steps, that_fail_on_one_rank_end_the_job_on_all) {
  for (int ranks : {1, 2, 4}) {
    const int code = exit_code(ranks, [&](Transport& transport) {
      TrainingSetting these = setting();
      DataSplit data = crafted_data(these.samples, these.test_samples);
      const bool is_last = transport.rank() == ranks - 1;
      data.train =
          std::make_unique<BrokenImages>(these.samples, is_last ? 20 : std::numeric_limits<std::int64_t>::max());
      Training(transport, these, std::move(data)).run();
    });
    EXPECT_EQ(code, 74);
  }
}

INSTANTIATE_TEST_SUITE_P(With, Steps, testing::ValuesIn(communicator_names(2)), in_identifiers);

}  // namespace
}  // namespace eave
