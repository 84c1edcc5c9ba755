// Tests that samples which do not add up are refused before they weigh a mean, at no cost in other steps.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eave/agreement.h"
#include "test/c/quadratic_loop.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

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
                    Weighing{"communicator=local-sgd tau=2", 2}, Weighing{"communicator=local-sgd tau=50", 3},
                    Weighing{"communicator=local-sgd post-local-at=100"}, Weighing{"communicator=bmuf tau=2", 2},
                    Weighing{"communicator=slowmo tau=3", 3}, Weighing{"communicator=diloco tau=2 tau-warmup=1"},
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
