// --center-ranks: ranks that hold the center and do not train. In all formulas p counts only the workers.
#include <gtest/gtest.h>

#include <numeric>

#include "base/options/number_text.h"
#include "test/communicator/simulator.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

Given with_center_ranks(int count, const std::string& order = "round-robin") {
  return {{"tau", "3"},
          {"beta", "0.6"},
          {"shard-bytes", "64"},
          {"async-order", order},
          {"center-ranks", std::to_string(count)}};
}

class CenterRanks : public testing::TestWithParam<Ranks> {
 protected:
  // Runs `body` with each number of center ranks that leaves at least one worker.
  void for_each_count(const std::function<void(Transport&, int)>& body) const {
    for (int count = 1; count < GetParam().count; ++count) {
      on_ranks(GetParam(), [&](Transport& transport) { body(transport, count); });
    }
  }
};

TEST_P(CenterRanks, serve_the_workers_of_the_simulator) {
  for_each_count([](Transport& transport, int count) {
    const int workers = transport.size() - count;
    const Problem problem{.learning_rate = 0.05, .momentum = 0.9, .uneven = true, .network = true};
    Simulator simulator(problem, workers);
    BegunWorker worker(transport, "easgd-async", with_center_ranks(count), problem);
    worker.run(100, [&](std::int64_t t) { simulator.round_robin_step(t, 0.6 / workers, 3); });
    const std::vector<float> center = worker.consensus();
    EXPECT_TRUE(same_on_all_ranks(transport, center));
    expect_near(center, simulator.c);
    if (transport.rank() >= workers) {
      EXPECT_EQ(worker.x, problem.start()) << "a rank that serves has trained";
    } else {
      expect_near(worker.x, simulator.x[me(transport)]);
    }
    worker.communicator().finish();
  });
}

TEST_P(CenterRanks, change_no_bit_of_what_one_center_in_shards_on_all_workers_does) {
  std::vector<float> among_workers;
  for_each_count([&](Transport& transport, int count) {
    BegunWorker worker(transport, "easgd-async", with_center_ranks(count), {.momentum = 0.9}, 20);
    const std::vector<float> center = worker.consensus();
    worker.communicator().finish();
    if (transport.rank() == 0 && transport.size() - count == 2) among_workers = center;
  });
  if (among_workers.empty() || GetParam().transport != "threads") return;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    BegunWorker worker(transport, "easgd-async", with_center_ranks(0), {.momentum = 0.9}, 20);
    EXPECT_EQ(worker.consensus(), among_workers);
    worker.communicator().finish();
  });
}

TEST_P(CenterRanks, count_exchanges_and_staleness_of_the_workers) {
  for_each_count([](Transport& transport, int count) {
    const int workers = transport.size() - count;
    BegunWorker worker(transport, "easgd-async", with_center_ranks(count), {.steps = 30}, 30);
    worker.communicator().finish();
    const ExchangeReport report = worker.communicator().report();
    EXPECT_EQ(report.exchanges, transport.rank() < workers ? 10 : 0);
    if (transport.rank() != 0) return;
    EXPECT_EQ(report.staleness[static_cast<std::size_t>(workers - 1)], 9 * workers);
    EXPECT_EQ(std::accumulate(report.staleness.begin(), report.staleness.end(), std::int64_t{0}), 9 * workers);
  });
}

TEST_P(CenterRanks, are_named_in_the_card_and_do_not_count_in_p) {
  for_each_count([](Transport& transport, int count) {
    Worker worker(transport, "easgd-async", with_center_ranks(count), {});
    const std::string card = worker.communicator().equation();
    EXPECT_TRUE(says(card, "p = " + count_text(transport.size() - count, "worker")));
    EXPECT_TRUE(says(card, "not train"));
  });
}

TEST_P(CenterRanks, that_would_leave_nobody_to_train_are_refused) {
  on_ranks(GetParam(), [](Transport& transport) {
    expect_error(ExitCode::kUsage, "leaves no rank to train",
                 [&] { Worker(transport, "easgd-async", with_center_ranks(transport.size()), {}); });
  });
}

TEST_P(CenterRanks, continue_from_a_saved_state_with_the_same_bits) {
  for_each_count([](Transport& transport, int count) {
    expect_to_resume(transport, "easgd-async", with_center_ranks(count), {.momentum = 0.9}, 20, 9);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, CenterRanks, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
