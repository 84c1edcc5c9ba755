// Tests steps of ranks that have unequal numbers of batches, samples that do not add up, which are refused before they
// weigh a mean, and the warning about few exchanges.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "c/averager_options.h"
#include "c/sample_count.h"
#include "communicator/support/plugin.h"
#include "eave/agreement.h"
#include "test/c/averager_loop.h"
#include "test/c/quadratic_loop.h"
#include "test/communicator/every_communicator.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

constexpr int kMostBatches = 17;
// Of three ranks, the second has most batches, and the last has none.
int batches_of(int rank) { return std::vector<int>{9, kMostBatches, 0}[static_cast<std::size_t>(rank)]; }
std::int64_t samples_of(int rank, int step) { return step < batches_of(rank) ? 2 + rank + step % 2 : 0; }

// Goes on after begin_step with a gradient of this rank, which has no meaning once its data has ended.
void end_step(QuadraticLoop& loop) {
  for (std::size_t k = 0; k < loop.x.size(); ++k) loop.g[k] = Quadratic::gradient(loop.transport.rank(), k, loop.x[k]);
  const bool updates = loop.averager.before_update(1);
  for (std::size_t k = 0; updates && k < loop.x.size(); ++k)
    loop.x[k] -= static_cast<float>(QuadraticLoop::rate) * loop.g[k];
  loop.averager.after_update();
}

void run_with_known_counts(QuadraticLoop& loop) {
  for (int step = 0; step < kMostBatches; ++step) {
    std::int64_t everywhere = 0;
    for (int rank = 0; rank < loop.transport.size(); ++rank) everywhere += samples_of(rank, step);
    loop.averager.begin_step(samples_of(loop.transport.rank(), step), everywhere, QuadraticLoop::rate);
    end_step(loop);
  }
}

int run_joined(QuadraticLoop& loop) {
  bool leaves = false;
  int steps = 0;
  while (true) {
    // Only ranks with data know the learning rate.
    const std::int64_t samples = samples_of(loop.transport.rank(), steps);
    std::vector<double> numbers = {samples > 0 ? QuadraticLoop::rate : 9, samples > 0 ? 1.0 / steps : 0};
    if (!loop.averager.begin_joined_step(samples, numbers, leaves)) break;
    if (loop.averager.needs_equal_steps()) {
      EXPECT_EQ(numbers, (std::vector<double>{QuadraticLoop::rate, 1.0 / steps}));
    }
    end_step(loop);
    ++steps;
  }
  return steps;
}

class JoinedSteps : public testing::TestWithParam<std::string> {};

// No rank knows how many batches the other ranks have.
TEST_P(JoinedSteps, end_where_steps_with_known_counts_end) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const std::string options = averager_options(GetParam(), frequent_exchanges(GetParam(), 3));
    QuadraticLoop known(transport, options);
    run_with_known_counts(known);
    const std::vector<float> expected = known.consensus();
    known.averager.finish();
    QuadraticLoop joined(transport, options);
    const int steps = run_joined(joined);
    EXPECT_EQ(steps, joined.averager.needs_equal_steps() ? kMostBatches : std::max(batches_of(transport.rank()), 1));
    const std::vector<float> got = joined.consensus();
    EXPECT_TRUE(same_on_all_ranks(transport, got));
    if (joined.averager.needs_equal_steps()) {
      EXPECT_EQ(joined.x, known.x);
      EXPECT_EQ(got, expected);
    }
    joined.averager.finish();
  });
}

INSTANTIATE_TEST_SUITE_P(Of, JoinedSteps, testing::ValuesIn(communicator_names(3)),
                         [](const auto& test) { return identifier(test.param); });

// A plug-in has no codec, so it does not state that it compresses, as all methods of eave do that exchange.
TEST(JoinedSteps, of_a_plug_in_that_averages_gradients_end_together) {
  load_plugin(SIGN_VOTE);
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop known(transport, "communicator=sign-vote");
    run_with_known_counts(known);
    const std::vector<float> expected = known.consensus();
    known.averager.finish();
    QuadraticLoop joined(transport, "communicator=sign-vote");
    EXPECT_EQ(run_joined(joined), kMostBatches);
    EXPECT_EQ(joined.consensus(), expected);
    EXPECT_EQ(joined.x, known.x);
    joined.averager.finish();
  });
}

TEST(JoinedSteps, of_ranks_that_wait_for_nobody_end_together) {
  for (const char* name : {"easgd-async", "downpour", "adownpour", "none"}) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      QuadraticLoop loop(transport,
                         averager_options(name, name == std::string("none") ? Given() : Given{{"tau", "2"}}));
      for (int epoch = 0; epoch < 2; ++epoch) {
        EXPECT_EQ(run_joined(loop), std::max(batches_of(transport.rank()), 1));
        EXPECT_TRUE(same_on_all_ranks(transport, loop.consensus()));
      }
      loop.averager.finish();
    });
  }
}

// The state that is saved needs a consensus, as an evaluation does.
TEST(JoinedSteps, of_ranks_that_wait_for_nobody_go_on_after_a_save) {
  for (const char* name : {"easgd-async", "downpour", "adownpour"}) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      QuadraticLoop loop(transport, averager_options(name, {{"tau", "2"}}));
      run_joined(loop);
      loop.averager.state("");
      run_joined(loop);
      EXPECT_TRUE(same_on_all_ranks(transport, loop.consensus()));
      loop.averager.finish();
    });
  }
}

TEST(JoinedSteps, of_a_rank_without_data_count_as_none) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, averager_options("easgd-async", {{"tau", "2"}}));
    for (int epoch = 1; epoch <= 2; ++epoch) {
      run_joined(loop);
      EXPECT_EQ(loop.averager.steps(), epoch * batches_of(transport.rank()));
      loop.consensus();
    }
    loop.averager.finish();
  });
}

// Some ranks have gone on since the last consensus, and others have not.
TEST(UnequalSteps, let_all_ranks_meet_in_a_consensus_and_at_the_end) {
  const Given often = {{"tau", "2"}};
  const std::vector<std::pair<std::string, Given>> methods = {
      {"none", {}},           {"none", {{"average-at-end", "on"}}},
      {"easgd-async", often}, {"downpour", often},
      {"mdownpour", {}},      {"adownpour", often},
      {"mvadownpour", often}};
  for (const auto& [name, given] : methods) {
    for (const int first : {0, 1}) {
      on_ranks({"threads", 2}, [&, name = name, given = given](Transport& transport) {
        QuadraticLoop loop(transport, averager_options(name, given));
        loop.step();
        loop.consensus();
        if (transport.rank() == first) loop.step();
        EXPECT_TRUE(same_on_all_ranks(transport, loop.consensus())) << name;
        if (transport.rank() != first) loop.step();
        loop.averager.finish();
      });
    }
  }
}

// As the interface does before each call that is no step.
void meet(QuadraticLoop& loop) { Averager::meet_first_step(loop.transport, {&loop.averager}); }

TEST(UnequalSteps, of_a_rank_that_takes_none_let_all_ranks_meet) {
  const Given often = {{"tau", "2"}};
  const std::vector<std::pair<std::string, Given>> methods = {
      {"easgd-async", often}, {"downpour", often}, {"mdownpour", {}}, {"adownpour", often}, {"mvadownpour", often}};
  for (const auto& [name, given] : methods) {
    for (const int idle : {0, 1}) {
      on_ranks({"threads", 2}, [&, name = name, given = given](Transport& transport) {
        QuadraticLoop loop(transport, averager_options(name, given));
        meet(loop);
        const std::vector<float> first = loop.consensus();
        for (int step = 0; transport.rank() != idle && step < 5; ++step) loop.step();
        if (transport.rank() == idle) meet(loop);
        EXPECT_FALSE(loop.averager.awaited());
        EXPECT_TRUE(same_on_all_ranks(transport, loop.consensus())) << name;
        EXPECT_EQ(loop.averager.steps(), transport.rank() == idle ? 0 : 5);
        EXPECT_NE(loop.consensus(), first) << name;
        loop.averager.state("");
        loop.averager.finish();
      });
    }
  }
}

TEST(UnequalSteps, of_ranks_that_never_had_a_consensus_let_all_end) {
  for (const Given& given : {Given(), Given{{"average-at-end", "on"}}}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      QuadraticLoop loop(transport, averager_options("none", given));
      if (transport.rank() == 0) loop.step();
      loop.averager.finish();
    });
  }
}

TEST(JoinedSteps, give_the_mean_of_replicas_their_weights) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const std::string options = "communicator=none average-at-end=on lr=0.1";
    QuadraticLoop known(transport, options), joined(transport, options);
    run_with_known_counts(known);
    run_joined(joined);
    EXPECT_EQ(joined.consensus(), known.consensus());
  });
}

TEST(JoinedSteps, tell_ranks_without_data_that_another_rank_leaves) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=easgd-async tau=2");
    bool leaves = transport.rank() == 1;
    std::vector<double> rate = {0.1};
    loop.step();
    EXPECT_FALSE(loop.averager.begin_joined_step(0, rate, leaves));
    EXPECT_TRUE(leaves);
    loop.averager.finish();
  });
}

TEST(JoinedSteps, that_mean_nothing_are_refused_before_another_rank_waits) {
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=easgd");
    bool leaves = false;
    std::vector<double> rate = {0.1}, wrong = {-0.1};
    EXPECT_THROW(loop.averager.begin_joined_step(-1, rate, leaves), Error);
    EXPECT_THROW(loop.averager.begin_joined_step(SampleCount::kMost, rate, leaves), Error);
    EXPECT_THROW(loop.averager.begin_joined_step(1, wrong, leaves), Error);
    EXPECT_THROW(loop.averager.begin_joined_step(1, {}, leaves), Error);
    EXPECT_TRUE(loop.averager.begin_joined_step(1, rate, leaves));
    EXPECT_THROW(loop.averager.begin_joined_step(1, rate, leaves), Error);
  });
}

TEST(SampleCount, is_exact_for_numbers_beyond_those_of_float32) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    SampleCount count(transport);
    count.start((std::int64_t{1} << 40) + 4095 + transport.rank(), transport.rank() == 2, {});
    const SampleCount::Result all = count.wait();
    EXPECT_EQ(all.samples, 3 * ((std::int64_t{1} << 40) + 4095) + 3);
    EXPECT_TRUE(all.any_leaves);
  });
}

std::string warnings_at_close(const std::string& options, int steps) {
  testing::internal::CaptureStderr();
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options);
    for (int step = 0; step < steps; ++step) loop.step();
    loop.averager.finish();
  });
  return testing::internal::GetCapturedStderr();
}

TEST(FewExchanges, are_warned_of_once_at_the_end) {
  const std::string never = warnings_at_close("communicator=local-sgd tau=10", 9);
  EXPECT_NE(never.find("after 9 steps with tau=10 the ranks have never exchanged"), std::string::npos) << never;
  EXPECT_EQ(std::ranges::count(never, '\n'), 1) << never;
  const std::string few = warnings_at_close("communicator=gossip tau=10", 25);
  EXPECT_NE(few.find("at most 2 times"), std::string::npos) << few;
  const std::string often = warnings_at_close("communicator=local-sgd tau=1", 3);
  EXPECT_NE(often.find("at most 3 times: that is little averaging; take more steps\n"), std::string::npos) << often;
  for (const char* options : {"communicator=local-sgd tau=10", "communicator=easgd tau=10"})
    EXPECT_EQ(warnings_at_close(options, 40), "") << options;
  for (const char* options :
       {"communicator=local-sgd tau=10 tau-warmup=5", "communicator=local-sgd tau=10 adaptive-tau=on",
        "communicator=allreduce", "communicator=none"})
    EXPECT_EQ(warnings_at_close(options, 9), "") << options;
  EXPECT_EQ(warnings_at_close("communicator=local-sgd tau=10", 0), "");
  // This warning says the same, and more.
  const std::string untrained = warnings_at_close("communicator=easgd tau=10", 5);
  EXPECT_NE(untrained.find("untrained"), std::string::npos);
  EXPECT_EQ(std::ranges::count(untrained, '\n'), 1) << untrained;
}

constexpr const char* kWords = "samples/samples_everywhere of all ranks add up to ";

// The methods and the steps that they take before samples weigh a mean.
struct Weighing {
  std::string options;
  int steps = 1;
};

class WeighedMeans : public testing::TestWithParam<Weighing> {};

// Takes the steps, then asks for the consensus. Each rank gives its own 32 samples.
void expect_shares_refused(std::int64_t samples_everywhere, const std::string& sum) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop loop(transport, WeighedMeans::GetParam().options);
    loop.samples = 32;
    loop.samples_everywhere = samples_everywhere;
    for (int t = 1; t < WeighedMeans::GetParam().steps; ++t) loop.step();
    expect_thrown<AgreedError>(ExitCode::kUsage, kWords + sum + ", not to 1", [&] {
      loop.step();
      loop.consensus();
    });
    const std::vector<float> before = loop.x;
    expect_thrown<Error>(ExitCode::kUsage, "can only be closed", [&] { loop.step(); });
    expect_thrown<Error>(ExitCode::kUsage, "can only be closed", [&] { loop.consensus(); });
    EXPECT_EQ(loop.x, before);
    loop.averager.finish();
  });
}

TEST_P(WeighedMeans, are_refused_if_each_rank_gives_its_own_samples_twice) { expect_shares_refused(32, "2"); }
TEST_P(WeighedMeans, are_refused_if_samples_are_missing) { expect_shares_refused(640, "0.1"); }

TEST_P(WeighedMeans, take_samples_that_differ_by_step_and_ranks_without_any) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, WeighedMeans::GetParam().options);
    for (int t = 0; t < 9; ++t) {
      loop.samples = t == 4 || transport.rank() == 2 ? 0 : 1 + t + 5 * transport.rank();
      loop.samples_everywhere = t == 4 ? 1 : 2 * (1 + t) + 5;
      if (t == 4 && transport.rank() == 0) loop.samples = 1;
      loop.step();
    }
    loop.consensus();
    loop.averager.finish();
  });
}

INSTANTIATE_TEST_SUITE_P(
    Of, WeighedMeans,
    testing::Values(Weighing{"communicator=allreduce"}, Weighing{"communicator=allreduce compression=int8"},
                    Weighing{"communicator=local-sgd tau=1"}, Weighing{"communicator=local-sgd tau=2", 2},
                    Weighing{"communicator=local-sgd tau=50", 3}, Weighing{"communicator=local-sgd post-local-at=100"},
                    Weighing{"communicator=bmuf tau=2", 2}, Weighing{"communicator=slowmo tau=3", 3},
                    Weighing{"communicator=diloco tau=2 tau-warmup=1"},
                    Weighing{"communicator=none average-at-end=on", 5}),
    [](const auto& test) { return "way_" + std::to_string(test.index); });

TEST(SampleShares, cost_nothing_in_steps_without_an_exchange) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=local-sgd tau=5");
    const std::int64_t before = loop.averager.counters().calls;
    for (int t = 1; t < 5; ++t) loop.step();
    EXPECT_EQ(loop.averager.counters().calls, before);
    loop.step();
    EXPECT_EQ(loop.averager.counters().calls, before + 2);
    loop.averager.finish();
  });
}

TEST(SampleShares, do_not_matter_if_nothing_is_weighed_by_them) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=easgd tau=2"), even(transport, "communicator=easgd tau=2");
    loop.samples = loop.samples_everywhere = 32;
    for (int t = 0; t < 8; ++t) {
      loop.step();
      even.step();
    }
    EXPECT_EQ(loop.consensus(), even.consensus());
    loop.averager.finish();
    even.averager.finish();
  });
}

}  // namespace
}  // namespace eave
