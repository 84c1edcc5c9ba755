// A NaN or infinity in one rank's loss or gradient reaches no other rank, no center, and no state.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "eave/agreement.h"
#include "eave/job.h"
#include "test/train/training.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using Kind = InjectedFault::Kind;

bool all_finite(Training& training) {
  std::vector<Slice> all = training.replica().view().optimizer;
  for (const Slice state : training.communicator().state()) all.push_back(state);
  all.push_back(training.replica().parameters.slice());
  all.push_back(training.replica().statistics.slice());
  bool finite = true;
  std::vector<float> values;
  for (const Slice slice : all) {
    values.resize(slice.size());
    training.replica().device.read(slice, values);
    for (const float value : values) finite = finite && std::isfinite(value);
  }
  return finite;
}

struct Where {
  int rank = 0;
  InjectedFault fault;
};

Where somewhere(Kind kind, int ranks, std::int64_t steps, unsigned seed) {
  std::mt19937 random(seed);
  return {static_cast<int>(random() % static_cast<unsigned>(ranks)),
          {kind, static_cast<std::int64_t>(random() % static_cast<unsigned>(steps)),
           static_cast<std::int64_t>(random() % 4096), 0}};
}

// Collective. Trains with a fault on one rank, and returns how many steps each rank left out.
std::vector<double> run_with_fault(Transport& transport, TrainingSetting setting, const Where& where) {
  if (transport.rank() == where.rank) setting.plan.fault = where.fault;
  setting.plan.evaluate_every_steps = 5;
  Training training(transport, setting);
  training.at_step = [&](const StepRecord& step) { EXPECT_TRUE(all_finite(training)) << "step " << step.step; };
  const TrainingResult result = training.run();
  EXPECT_EQ(result.progress.steps, setting.plan.steps);
  for (const EvaluationRecord& each : training.evaluations) EXPECT_TRUE(std::isfinite(each.center.loss));
  EXPECT_TRUE(all_finite(training));
  const std::vector<float> center = training.center();
  for (const float value : center) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(same_on_all_ranks(transport, center));
  if (training.parts().traits.averages_gradients) {
    EXPECT_TRUE(same_on_all_ranks(transport, training.parameters()));
  }
  std::vector<double> mine(static_cast<std::size_t>(transport.size()));
  mine[static_cast<std::size_t>(transport.rank())] = static_cast<double>(result.progress.nonfinite);
  return sum_over_ranks(transport, mine);
}

class Nonfinite : public testing::TestWithParam<std::string> {
 protected:
  TrainingSetting setting(int ranks) const {
    TrainingSetting setting;
    setting.communicator = GetParam();
    setting.averaging = frequent_exchanges(GetParam(), ranks);
    setting.model = "conv2d 4 3x3 pad 1; batch_norm; relu; max_pool 2; flatten; dense 16; relu; dense classes";
    return setting;
  }
};

TEST_P(Nonfinite, loss_is_left_out_on_its_rank_alone_and_reaches_nobody) {
  for (const int ranks : {2, 4}) {
    const std::vector<std::string> names = communicator_names(ranks);
    if (std::ranges::find(names, GetParam()) == names.end()) continue;
    for (unsigned seed = 0; seed < 4; ++seed) {
      on_ranks({"threads", ranks}, [&](Transport& transport) {
        const TrainingSetting these = setting(ranks);
        const Where where = somewhere(Kind::kNanLoss, ranks, these.plan.steps, seed);
        const std::vector<double> left_out = run_with_fault(transport, these, where);
        for (int rank = 0; rank < ranks; ++rank) {
          EXPECT_EQ(left_out[static_cast<std::size_t>(rank)], rank == where.rank ? 1 : 0) << seed;
        }
      });
    }
  }
}

TEST_P(Nonfinite, gradient_stays_where_it_is_and_is_counted) {
  for (const int ranks : {2, 4}) {
    const std::vector<std::string> names = communicator_names(ranks);
    if (std::ranges::find(names, GetParam()) == names.end()) continue;
    for (unsigned seed = 0; seed < 6; ++seed) {
      on_ranks({"threads", ranks}, [&](Transport& transport) {
        TrainingSetting these = setting(ranks);
        if (seed % 3 == 1) these.optimizer = {{"momentum", "0.9"}, {"nesterov", "on"}};
        if (seed % 3 == 2) {
          these.rule = "adamw";
          these.optimizer = {};
        }
        const Kind kind = seed % 2 == 0 ? Kind::kNanGradient : Kind::kInfGradient;
        const Where where = somewhere(kind, ranks, these.plan.steps, seed);
        const bool averages = find_kind(communicator_kinds(), GetParam()).traits.averages_gradients;
        const bool uses_optimizer = find_kind(communicator_kinds(), GetParam()).traits.uses_optimizer;
        const std::vector<double> left_out = run_with_fault(transport, these, where);
        for (int rank = 0; rank < ranks && uses_optimizer; ++rank) {
          EXPECT_EQ(left_out[static_cast<std::size_t>(rank)], averages || rank == where.rank ? 1 : 0) << seed;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Communicators, Nonfinite, testing::ValuesIn(communicator_names(1)), in_identifiers);

// Without averaging, a loss that is not finite only leaves out the step: parameters and momentum stay as they were.
TEST(NonfiniteLoss, leaves_parameters_and_momentum_as_they_were) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    setting.communicator = "none";
    setting.plan.fault = {Kind::kNanLoss, 4, 0, 0};
    Training training(transport, setting);
    std::vector<std::vector<float>> parameters, velocities;
    training.at_step = [&](const StepRecord& step) {
      parameters.push_back(training.parameters());
      const Slice velocity = training.replica().view().optimizer.front();
      velocities.emplace_back(velocity.begin(), velocity.end());
      EXPECT_EQ(std::isnan(step.loss), step.step == 5);
      EXPECT_EQ(step.nonfinite, step.step == 5 ? 1 : 0);
    };
    EXPECT_EQ(training.run().progress.nonfinite, 1);
    EXPECT_EQ(parameters[4], parameters[3]);
    EXPECT_EQ(velocities[4], velocities[3]);
    EXPECT_NE(parameters[5], parameters[4]);
  });
}

// The gradients of the other ranks count as if the failing rank had no samples.
TEST(NonfiniteLoss, of_one_rank_leaves_the_others_their_step_under_allreduce) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    if (transport.rank() == 1) setting.plan.fault = {Kind::kNanLoss, 4, 0, 0};
    Training training(transport, setting);
    std::vector<std::vector<float>> parameters;
    training.at_step = [&](const StepRecord&) { parameters.push_back(training.parameters()); };
    training.run();
    EXPECT_NE(parameters[4], parameters[3]);
    EXPECT_TRUE(same_on_all_ranks(transport, parameters[4]));
  });
}

TEST(NonfiniteGradient, keeps_its_element_and_moves_all_others) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    setting.communicator = "none";
    std::vector<std::vector<float>> with, without;
    for (const bool has_fault : {true, false}) {
      TrainingSetting these = setting;
      these.plan.steps = 5;
      if (has_fault) these.plan.fault = {Kind::kInfGradient, 4, 7, 0};
      Training training(transport, these);
      training.at_step = [&](const StepRecord&) { (has_fault ? with : without).push_back(training.parameters()); };
      training.run();
    }
    std::vector<float> expected = without[4];
    expected[7] = without[3][7];
    EXPECT_EQ(with[4], expected);
  });
}

TEST(NonfiniteSteps, in_a_row_end_the_job_at_the_limit_and_not_before) {
  for (const std::int64_t limit : {1, 3}) {
    std::int64_t steps = 0;
    const int code = find_kind(transport_kinds(), "loopback").run(1, [&](Transport& transport) {
      TrainingSetting setting;
      setting.plan.nonfinite_limit = limit;
      Training training(transport, setting);
      training.at_step = [&](const StepRecord& step) {
        steps = step.step;
        const auto last = static_cast<std::size_t>(training.model().parameters().back().offset);
        if (step.step == 4) training.replica().parameters.slice()[last] = std::nanf("");
      };
      training.run();
    });
    EXPECT_EQ(code, 76);
    EXPECT_EQ(steps, 4 + limit);
  }
}

TEST(NonfiniteAbort, ends_the_job_with_the_first) {
  for (const Kind kind : {Kind::kNanLoss, Kind::kNanGradient}) {
    for (const std::string communicator : {"allreduce", "easgd"}) {
      std::int64_t steps = 0;
      const int code = find_kind(transport_kinds(), "threads").run(2, [&](Transport& transport) {
        TrainingSetting setting;
        setting.communicator = communicator;
        setting.plan.on_nonfinite = OnNonfinite::kAbort;
        if (transport.rank() == 1) setting.plan.fault = {kind, 4, 7, 0};
        Training training(transport, setting);
        training.at_step = [&](const StepRecord& step) {
          if (transport.rank() == 1) steps = step.step;
        };
        training.run();
      });
      EXPECT_EQ(code, 76) << communicator;
      EXPECT_LE(steps, 5) << communicator;
    }
  }
}

}  // namespace
}  // namespace eave
