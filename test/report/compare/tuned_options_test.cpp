#include "report/compare/tuned_options.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace eave {
namespace {

std::string beyond(const std::string& name, const std::vector<double>& tried, double chosen, double bound = 2.0 / 3) {
  const auto option = std::ranges::find(tuned_options(), name, &TunedOption::name);
  return option == tuned_options().end() ? "no such option" : value_beyond(*option, tried, chosen, bound);
}

TEST(TunedOptions, go_out_by_the_ratio_to_the_neighbour) {
  EXPECT_EQ(beyond("outer-rate", {0.7, 0.35}, 0.7), "1.4");
  EXPECT_EQ(beyond("outer-rate", {0.7, 0.35}, 0.35), "0.175");
  EXPECT_EQ(beyond("outer-rate", {0.2, 0.4, 0.8}, 0.4), "") << "inside";
  EXPECT_EQ(beyond("outer-rate", {0.2}, 0.2), "") << "nothing beside it";
  EXPECT_EQ(beyond("outer-rate", {0.2, 0.2}, 0.2), "") << "twice the same";
}

TEST(TunedOptions, keep_tau_whole_and_at_least_1) {
  EXPECT_EQ(beyond("tau", {4, 16}, 16), "64");
  EXPECT_EQ(beyond("tau", {4, 16}, 4), "1");
  EXPECT_EQ(beyond("tau", {3, 4}, 3), "2");
  EXPECT_EQ(beyond("tau", {9, 10}, 10), "11");
  EXPECT_EQ(beyond("tau", {100, 101}, 100), "99");
  EXPECT_EQ(beyond("tau", {2, 10}, 2), "1") << "0.4 is no tau";
  EXPECT_EQ(beyond("tau", {1, 10}, 1), "") << "there is no lower one";
}

TEST(TunedOptions, keep_alpha_above_0_and_stable) {
  EXPECT_EQ(beyond("alpha", {0.1, 0.2}, 0.2), "0.4");
  EXPECT_EQ(beyond("alpha", {0.2, 0.4}, 0.4), "0.533") << "half of the way to 2/3";
  EXPECT_EQ(beyond("alpha", {0.4, 0.66}, 0.66), "") << "nothing new below the bound";
  EXPECT_EQ(beyond("alpha", {0.4, 0.8}, 0.8), "") << "beyond the bound already";
  EXPECT_EQ(beyond("alpha", {0.4, 0.8}, 0.4), "0.2");
}

TEST(TunedOptions, keep_momentum_from_0_to_1) {
  EXPECT_EQ(beyond("outer-momentum", {0.5, 0.9}, 0.9), "0.98");
  EXPECT_EQ(beyond("outer-momentum", {0.5, 0.9}, 0.5), "0");
  EXPECT_EQ(beyond("outer-momentum", {0, 0.9}, 0), "");
  EXPECT_EQ(beyond("outer-momentum", {0.99, 0.9999}, 0.9999), "");
}

}  // namespace
}  // namespace eave
