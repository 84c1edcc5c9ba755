// How soon rank 0 learns, during training, that a rank is slow.
#include <gtest/gtest.h>

#include "eave/decorators.h"
#include "test/train/training.h"

namespace eave {
namespace {

class Watch : public testing::TestWithParam<std::string> {
 protected:
  TrainingSetting setting(std::int64_t steps) const {
    TrainingSetting setting = setting_with(GetParam());
    setting.plan.steps = steps;
    setting.plan.watch_every_steps = 10;
    return setting;
  }
};

// The rule needs a quarter of a second of the slow rank's computing, which 40 steps of 20 ms give on any machine. A
// busy machine may hold up a rank for longer than a step takes. So only one of up to five runs has to be undisturbed.
TEST_P(Watch, names_the_slow_rank_within_50_of_its_steps_or_at_the_first_evaluation) {
  constexpr int kMostRuns = 5;
  for (const int slow : {0, 1}) {
    bool is_named = false;
    for (int run = 0; run < kMostRuns && !is_named; ++run) {
      on_ranks({"threads", 3}, [&](Transport& transport) {
        TrainingSetting these = setting(60);
        these.plan.computing_seconds = 0.002;
        if (transport.rank() == slow) these.plan.slow_factor = 10;
        Trained training(transport, these);
        if (transport.rank() != 0) {
          EXPECT_TRUE(training.stragglers.empty());
          return;
        }
        if (training.stragglers.size() != 1 || training.stragglers[0].rank != slow) return;
        const std::int64_t step = training.stragglers[0].step;
        const bool together = find_kind(communicator_kinds(), GetParam()).traits.exchanges_together;
        // `step` is a step of rank 0, which is at most two exchanges ahead of the slow rank.
        is_named = training.stragglers[0].factor > 3 && (together ? step <= 50 : step == 60);
      });
    }
    EXPECT_TRUE(is_named) << "rank " << slow;
  }
}

// After the first window the ranks compare their times, and the faster rank waits for the other. This waiting must
// count as waiting of the next step.
TEST(WatchOnce, what_ranks_wait_where_they_measure_together_is_waiting) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    setting.communicator = "easgd";
    setting.averaging = {{"tau", "100"}};
    setting.plan.steps = 12;
    setting.plan.watch_every_steps = 10;
    if (transport.rank() == 1) setting.plan.computing_seconds = 0.02;
    Trained training(transport, setting);
    if (transport.rank() != 0) return;
    ASSERT_EQ(training.steps.size(), 12u);
    EXPECT_GT(training.steps[10].waiting, 0.1);
    EXPECT_LT(training.steps[10].computing, 0.1);
    EXPECT_LT(training.steps[9].waiting, 0.1);
  });
}

// Watching for slow ranks changes no result.
TEST_P(Watch, changes_no_bit_of_training) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    std::vector<std::vector<float>> ends;
    for (const std::int64_t every : {0, 3}) {
      TrainingSetting these = setting(20);
      these.plan.watch_every_steps = every;
      ends.push_back(Trained(transport, these).parameters());
    }
    EXPECT_EQ(ends[0], ends[1]);
  });
}

INSTANTIATE_TEST_SUITE_P(With, Watch,
                         testing::Values("allreduce", "local-sgd", "easgd", "easgd-async", "gossip", "none"),
                         in_identifiers);

// An exchange takes about as long as 100 steps, and the comparison of replicas is queued behind it.
TEST(ReplicaHash, is_not_waited_for_while_an_exchange_is_under_way) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    setting.communicator = "easgd";
    setting.averaging = {{"tau", "120"}};
    setting.plan.steps = 200;
    setting.plan.replica_hash_every = 20;
    setting.plan.computing_seconds = 0.005;
    LinkShape shape;
    shape.bytes_per_second = 12e3;
    const std::unique_ptr<Transport> slow = make_shaped_transport(transport, shape);
    Trained training(*slow, setting);
    double longest = 0;
    for (std::size_t step = 121; step < 199; ++step) {
      const StepRecord& each = training.steps.at(step);
      longest = std::max(longest, each.computing + each.waiting);
    }
    EXPECT_LT(longest, 0.2) << training.replica().parameters.size() << " parameters";
  });
}

}  // namespace
}  // namespace eave
