// --reduction and --loss-reduction of allreduce: how gradients are added up, and by which factor this differs from the
// mean over all samples of a step.
#include <gtest/gtest.h>

#include "averaging_simulator.h"
#include "simulator.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

struct Way {
  std::string reduction, loss;

  Given given() const { return {{"reduction", reduction}, {"loss-reduction", loss}}; }
  std::string name() const { return reduction + " of gradients, " + loss + " of losses"; }
  // The weight of rank i's gradient of its mean loss, with n_i samples of n on p ranks.
  double weight(double n_i, double n, double p) const {
    const double of_rank = reduction == "weighted" ? n_i / n : reduction == "mean" ? 1 / p : 1;
    return of_rank * (loss == "sum" ? n_i : 1);
  }
};

const std::vector<Way> kWays = {{"weighted", "mean"}, {"mean", "mean"}, {"sum", "mean"},
                                {"weighted", "sum"},  {"mean", "sum"},  {"sum", "sum"}};

std::vector<float> train(Transport& transport, const Way& way, const Problem& problem, std::int64_t steps) {
  BegunWorker worker(transport, "allreduce", way.given(), problem, steps);
  EXPECT_TRUE(same_on_all_ranks(transport, worker.x));
  return worker.x;
}

std::string card_of(Transport& transport, const Way& way) {
  return Worker(transport, "allreduce", way.given(), {}).communicator().equation();
}

bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

class Reduction : public testing::TestWithParam<Ranks> {};

TEST_P(Reduction, follows_the_simulator_with_equal_and_uneven_samples) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Way& way : kWays) {
      for (const bool uneven : {false, true}) {  // uneven: sometimes a rank has no samples
        SCOPED_TRACE(way.name() + (uneven ? ", uneven" : ""));
        const Problem problem{.learning_rate = 0.01, .momentum = 0.5, .uneven = uneven, .network = true};
        Simulator simulator(problem, transport.size());
        const auto weight = [&](double n_i, double n) { return way.weight(n_i, n, transport.size()); };
        for (std::int64_t t = 0; t < 100; ++t) simulator.synchronous_step(t, weight);
        expect_near(train(transport, way, problem, 100), simulator.x[0]);
      }
    }
  });
}

TEST_P(Reduction, with_uneven_samples_tells_the_six_ways_apart) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    std::vector<std::vector<float>> results;
    for (const Way& way : kWays) {
      results.push_back(train(transport, way, {.learning_rate = 0.01, .uneven = true}, 10));
      for (std::size_t i = 0; i + 1 < results.size(); ++i) EXPECT_NE(results[i], results.back()) << way.name();
    }
  });
}

// All ranks have n_i = 2 samples. If the learning rate is divided by the factor on the card, training is that of the
// mean over all samples. If the factor is a power of two, it has the same bits; otherwise it differs only by rounding.
TEST_P(Reduction, acts_on_the_learning_rate_by_the_factor_on_the_card) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int p = transport.size();
    const std::string ranks = std::to_string(p);
    const std::vector<std::pair<int, std::string>> factors = {
        {1, ""},
        {1, "with equal n_i this is the mean over all samples of a step"},
        {p, "lr acts as if it were p = " + ranks + " times as large as with the mean over all samples"},
        {2, "lr acts as if it were n_i times as large as with the mean over all samples"},
        {2, "lr acts as if it were n_i times as large as with the mean over all samples"},
        {2 * p, "lr acts as if it were p n_i = " + ranks + " n_i times as large as with the mean over all samples"}};
    const Problem mean{.learning_rate = 0.04, .momentum = 0.9};
    const std::vector<float> expected = train(transport, kWays[0], mean, 50);
    for (std::size_t i = 0; i < kWays.size(); ++i) {
      SCOPED_TRACE(kWays[i].name());
      EXPECT_TRUE(says(card_of(transport, kWays[i]), factors[i].second));
      Problem divided = mean;
      divided.learning_rate /= factors[i].first;
      const std::vector<float> x = train(transport, kWays[i], divided, 50);
      if (is_power_of_two(p)) {
        EXPECT_EQ(x, expected);
      } else {
        for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], expected[k], 1e-6);
      }
    }
  });
}

TEST_P(Reduction, of_the_mean_says_what_a_sum_would_do) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) {  // on one rank sum and mean are the same
      EXPECT_FALSE(says(card_of(transport, kWays[0]), "--reduction sum"));
      return;
    }
    EXPECT_TRUE(says(card_of(transport, kWays[0]), "--reduction sum) would be as if lr were p = " +
                                                       std::to_string(transport.size()) + " times as large"));
  });
}

std::vector<std::string> warnings_of(Transport& transport, const Given& given) {
  const CommunicatorKind& kind = find_kind(communicator_kinds(), "allreduce");
  std::vector<OptionSpec> options = kind.options;
  for (const OptionSpec& option : Schedule::options()) options.push_back(option);
  const OptionValues values = values_of(options, given);
  std::vector<std::string> warnings;
  kind.make({transport, values, 0.1, warnings});
  return warnings;
}

TEST_P(Reduction, by_sum_warns_where_the_rate_is_scaled_too) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int p = transport.size();
    const std::vector<std::string> both = warnings_of(transport, {{"reduction", "sum"}, {"lr-scaling", "linear"}});
    ASSERT_EQ(both.size(), transport.rank() == 0 && p > 1 ? 1u : 0u);
    if (!both.empty()) {
      EXPECT_TRUE(says(both[0], std::to_string(p) + " x " + std::to_string(p) + " = " + std::to_string(p * p)));
    }
    EXPECT_EQ(warnings_of(transport, {{"reduction", "sum"}, {"lr-scaling", "sqrt"}}).size(), both.size());
    EXPECT_EQ(warnings_of(transport, {{"reduction", "sum"}}), std::vector<std::string>());
    EXPECT_EQ(warnings_of(transport, {{"reduction", "mean"}, {"lr-scaling", "linear"}}), std::vector<std::string>());
    EXPECT_EQ(warnings_of(transport, {{"lr-scaling", "linear"}}), std::vector<std::string>());
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Reduction, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
