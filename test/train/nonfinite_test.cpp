// A NaN or infinity in one rank's loss or gradient reaches no other rank, no center, and no state.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>

#include "eave/agreement.h"
#include "test/train/training.h"

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

struct FaultPlace {
  int rank = 0;
  InjectedFault fault;
};

FaultPlace somewhere(Kind kind, int ranks, std::int64_t steps, unsigned seed) {
  std::mt19937 random(seed);
  return {static_cast<int>(random() % static_cast<unsigned>(ranks)),
          {kind, static_cast<std::int64_t>(random() % static_cast<unsigned>(steps)),
           static_cast<std::int64_t>(random() % 4096), 0}};
}

// Collective. Trains with a fault on one rank, and returns how many steps each rank left out.
std::vector<double> run_with_fault(Transport& transport, TrainingSetting setting, const FaultPlace& where) {
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
  static TrainingSetting setting(int ranks) {
    TrainingSetting setting = setting_with(GetParam(), ranks);
    setting.model = "conv2d 4 3x3 pad 1; batch_norm; relu; max_pool 2; flatten; dense 16; relu; dense classes";
    return setting;
  }
  // Runs `body` with each seed below `seeds` on 2 and on 4 ranks, if the method goes with these.
  static void on_2_and_4_ranks(unsigned seeds, const std::function<void(Transport&, unsigned seed)>& body) {
    for (const int ranks : {2, 4}) {
      for (unsigned seed = 0; seed < seeds && goes_with(GetParam(), ranks); ++seed) {
        on_ranks({"threads", ranks}, [&](Transport& transport) { body(transport, seed); });
      }
    }
  }
};

TEST_P(Nonfinite, loss_is_left_out_and_reaches_nobody) {
  on_2_and_4_ranks(4, [](Transport& transport, unsigned seed) {
    const TrainingSetting these = setting(transport.size());
    const FaultPlace where = somewhere(Kind::kNanLoss, transport.size(), these.plan.steps, seed);
    const bool is_of_all = find_kind(communicator_kinds(), GetParam()).traits.averages_gradients;
    const std::vector<double> left_out = run_with_fault(transport, these, where);
    for (int rank = 0; rank < transport.size(); ++rank) {
      EXPECT_EQ(left_out[static_cast<std::size_t>(rank)], is_of_all || rank == where.rank ? 1 : 0) << seed;
    }
  });
}

TEST_P(Nonfinite, gradient_stays_where_it_is_and_is_counted) {
  on_2_and_4_ranks(6, [](Transport& transport, unsigned seed) {
    TrainingSetting these = setting(transport.size());
    if (seed % 3 == 1) these.optimizer = {{"momentum", "0.9"}, {"nesterov", "on"}};
    if (seed % 3 == 2) {
      these.rule = "adamw";
      these.optimizer = {};
    }
    const Kind kind = seed % 2 == 0 ? Kind::kNanGradient : Kind::kInfGradient;
    const FaultPlace where = somewhere(kind, transport.size(), these.plan.steps, seed);
    const CommunicatorTraits& traits = find_kind(communicator_kinds(), GetParam()).traits;
    const std::vector<double> left_out = run_with_fault(transport, these, where);
    for (int rank = 0; rank < transport.size() && traits.uses_optimizer; ++rank) {
      EXPECT_EQ(left_out[static_cast<std::size_t>(rank)], traits.averages_gradients || rank == where.rank ? 1 : 0)
          << seed;
    }
  });
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
      velocities.push_back(training.momentum());
      EXPECT_EQ(std::isnan(step.loss), step.step == 5);
      EXPECT_EQ(step.nonfinite, step.step == 5 ? 1 : 0);
    };
    EXPECT_EQ(training.run().progress.nonfinite, 1);
    EXPECT_EQ(parameters[4], parameters[3]);
    EXPECT_EQ(velocities[4], velocities[3]);
    EXPECT_NE(parameters[5], parameters[4]);
  });
}

// A training that averages gradients in step 5, whose loss is not finite on the last rank.
struct AveragedGradients {
  std::string name;
  std::function<void(TrainingSetting&)> change;
};

void use_adamw(TrainingSetting& setting) {
  setting.rule = "adamw";
  setting.optimizer = {{"weight-decay", "0.1"}};
  setting.rate = {{"lr", "0.003"}};
}

const AveragedGradients kAveragedGradients[] = {
    {"sgd", [](TrainingSetting&) {}},
    {"nesterov", [](TrainingSetting& setting) { setting.optimizer.emplace_back("nesterov", "on"); }},
    {"adamw", use_adamw},
    {"muon",
     [](TrainingSetting& setting) {
       setting.rule = "muon";
       setting.optimizer = {};
     }},
    {"clipping", [](TrainingSetting& setting) { setting.plan.clip_norm = 0.1; }},
    {"accumulation", [](TrainingSetting& setting) { setting.plan.passes = 2; }},
    {"reproducible",
     [](TrainingSetting& setting) {
       setting.averaging = {{"reproducible", "on"}};
     }},
    {"compression",
     [](TrainingSetting& setting) {
       setting.averaging = {{"compression", "int8"}};
     }},
    {"post_local",
     [](TrainingSetting& setting) {
       setting.communicator = "local-sgd";
       setting.averaging = {{"post-local-at", "8"}, {"tau", "2"}};
     }},
};

class NonfiniteLossOfAveragedGradients : public testing::TestWithParam<std::tuple<AveragedGradients, int>> {};

TEST_P(NonfiniteLossOfAveragedGradients, leaves_out_the_step_of_all_ranks) {
  const auto& [of, ranks] = GetParam();
  on_ranks({"threads", ranks}, [&change = of.change](Transport& transport) {
    TrainingSetting setting;
    setting.optimizer = {{"momentum", "0.9"}, {"weight-decay", "0.1"}};
    change(setting);
    setting.plan.steps = 8;
    const bool is_bad = transport.rank() == transport.size() - 1;
    if (is_bad) setting.plan.fault = {Kind::kNanLoss, 4, 0, 0};
    Training training(transport, setting);
    std::vector<std::vector<std::vector<float>>> states;
    training.at_step = [&](const StepRecord& step) {
      states.emplace_back();
      for (const Slice vector : training.replica().view().optimizer)
        states.back().emplace_back(vector.begin(), vector.end());
      states.back().push_back(training.parameters());
      if (is_bad) {  // what compression has dropped of earlier gradients
        for (const Slice slice : training.communicator().state())
          states.back().emplace_back(slice.begin(), slice.end());
      }
      EXPECT_EQ(step.nonfinite, step.step == 5 ? 1 : 0);
    };
    EXPECT_EQ(training.run().progress.nonfinite, 1);
    EXPECT_TRUE(states[4] == states[3]);
    EXPECT_FALSE(states[5] == states[4]);
    EXPECT_TRUE(same_on_all_ranks(transport, training.parameters()));
  });
}

INSTANTIATE_TEST_SUITE_P(Trainings, NonfiniteLossOfAveragedGradients,
                         testing::Combine(testing::ValuesIn(kAveragedGradients), testing::Values(1, 2)),
                         [](const auto& which) {
                           return std::get<0>(which.param).name + "_" + std::to_string(std::get<1>(which.param));
                         });

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
    const EndedJob ended = run_job(1, [&](Transport& transport) {
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
    EXPECT_EQ(ended.code, 76);
    EXPECT_EQ(steps, 4 + limit);
  }
}

TEST(NonfiniteAbort, ends_the_job_with_the_first) {
  for (const Kind kind : {Kind::kNanLoss, Kind::kNanGradient}) {
    for (const std::string communicator : {"allreduce", "easgd"}) {
      std::int64_t steps = 0;
      const EndedJob ended = run_job(2, [&](Transport& transport) {
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
      EXPECT_EQ(ended.code, 76) << communicator;
      EXPECT_LE(steps, 5) << communicator;
    }
  }
}

}  // namespace
}  // namespace eave
