// The DOWNPOUR methods when exchanges run freely: random timings, replay, slow workers; the last two with easgd-async
// too. Also the options that the DOWNPOUR methods refuse. Ranks are threads.
#include <gtest/gtest.h>

#include "free_runs.h"
#include "test/expectations.h"

namespace eave {
namespace {

const std::vector<std::string> kMethods = {"downpour", "adownpour", "mvadownpour", "mdownpour"};
const std::vector<std::string> kFreeMethods = {"downpour", "adownpour", "mvadownpour", "mdownpour", "easgd-async"};

Given given_to(const std::string& method, const std::string& tau = "2") {
  Given given = {{"shard-bytes", "64"}};
  method == "mdownpour" ? given.emplace_back("center-momentum", "0.5") : given.emplace_back("tau", tau);
  return given;
}

TEST(DownpourFree, ends_and_applies_each_exchange_once_whatever_the_timing) {
  for (int timing = 0; timing < kTimings; ++timing) {
    const std::string& method = kMethods[static_cast<std::size_t>(timing) % kMethods.size()];
    const int center_ranks = timing % 5 == 0 ? 1 : 0, workers = 2 + timing % 3;
    const Problem problem{.size = 40, .learning_rate = 0.02, .steps = 7, .uneven = timing % 2 == 0};
    Given given = given_to(method);
    given.emplace_back("center-ranks", std::to_string(center_ranks));
    SCOPED_TRACE(method + ", timing " + std::to_string(timing));
    const Ended ended = run_freely(method, workers + center_ranks, given, problem, static_cast<std::uint64_t>(timing));
    expect_each_exchange_once(ended.order, workers, method == "mdownpour" ? 7 : 3);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(FreeExchanges, replayed_have_the_same_bits_whatever_the_timing) {
  for (const std::string& method : kFreeMethods) {
    const Problem problem{
        .size = 200, .learning_rate = 0.02, .momentum = 0.5, .nesterov = true, .steps = 40, .uneven = true};
    int different = 0;
    for (std::uint64_t timing = 0; timing < 3; ++timing) {
      different += replays_and_differs_when_free(method, given_to(method), problem, timing) ? 1 : 0;
    }
    EXPECT_GT(different, 0) << method << ": free runs all end alike, and the replays above show nothing";
  }
}

TEST(FreeExchanges, let_no_worker_wait_for_one_that_is_slower) {
  for (const std::string& method : kFreeMethods) {
    const std::vector<double> seconds = seconds_with_a_slow_rank(method, given_to(method, "1"), 12);
    EXPECT_GT(seconds[2], 0.6) << method;
    EXPECT_LT(seconds[0], 0.3) << method;  // its own computing takes 12 ms
    EXPECT_LT(seconds[1], 0.3) << method;
  }
}

TEST(DownpourOptions, out_of_range_are_refused_with_what_would_be_right) {
  const auto expect = [](const std::string& method, const Given& given, const std::string& words) {
    expect_refused(method, 2, given, words);
  };
  for (const char* method : {"downpour", "adownpour", "mvadownpour"}) expect(method, {{"tau", "0"}}, "--tau 0");
  for (const char* rate : {"0", "-0.1", "1.01"}) {
    expect("mvadownpour", {{"average-rate", rate}}, "expected a share above 0 and at most 1");
  }
  for (const char* momentum : {"1", "-0.1"}) {
    expect("mdownpour", {{"center-momentum", momentum}}, "expected at least 0 and below 1");
  }
  for (const std::string& method : kMethods) expect(method, {{"shard-bytes", "4"}}, "--shard-bytes 4");
}

TEST(DownpourCard, has_the_numbers_in_force) {
  const auto expect = [](const std::string& card, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_TRUE(says(card, part)) << part;
  };
  const std::string downpour = told("downpour", 4, {{"tau", "7"}, {"async-order", "round-robin"}}).card;
  // 0.445042 = 2 sin(pi/14), and 0.080682 = 1 - (1 - 0.445042)^(1/7).
  expect(downpour, {"tau = 7", "p = 4 workers", "round-robin", "grows with p tau", "0.445042", "lr h < 0.080682"});
  EXPECT_FALSE(says(downpour, "evaluated"));
  expect(told("adownpour", 2, {}).card, {"tau = 10", "p = 2", "a = 1/(t + 1)"});
  expect(told("mvadownpour", 3, {{"average-rate", "0.25"}}).card, {"p = 3", "a = 0.25"});
  expect(told("mdownpour", 3, {{"center-momentum", "0.75"}, {"weight-decay", "0.125"}}).card,
         {"p = 3", "delta = 0.75", "tau = 1", "(g_i + 0.125 x_i)"});
  expect(told("downpour", 3, {{"center-ranks", "1"}}).card, {"p = 2 workers", "rank 2, which does not train"});
}

TEST(DownpourCard, warns_of_a_run_without_an_exchange) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    EXPECT_EQ(Worker(transport, "downpour", {{"tau", "10"}}, {.steps = 9}).warnings.size(), 1u);
    EXPECT_TRUE(Worker(transport, "downpour", {{"tau", "10"}}, {.steps = 10}).warnings.empty());
  });
}

}  // namespace
}  // namespace eave
