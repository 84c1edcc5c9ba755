#include "report/compare/tuned_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/compare/comparison.h"
#include "test/report/made_runs.h"

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

// Three runs of one method that differ in alpha.
TEST(OptionTuning, tells_what_other_values_took_and_where_the_best_lies) {
  const MadeRuns place;
  for (const char* alpha : {"0.1", "0.2", "0.4"}) {
    const double score = std::string(alpha) == "0.4" ? 0.9 : 0.8;
    make_run(place, alpha,
             {.communicator = "easgd",
              .accuracies = std::vector<double>(10, score),
              .settings = {{"tau", "4"}, {"alpha", alpha}}});
  }
  const Comparison comparison = compare_runs(read_made(place), {});
  const auto best = std::ranges::find_if(comparison.variants, [](const Variant& each) { return !each.edges.empty(); });
  ASSERT_NE(best, comparison.variants.end());
  EXPECT_EQ(best->edges, std::vector<std::string>{"alpha 0.4 is the largest of 3 tried"});
  EXPECT_EQ(best->option_tuning, std::vector<std::string>{"alpha: 3 values, 16.0 s in 2 runs"});
  ASSERT_EQ(best->option_edges.size(), 1u);
  EXPECT_EQ(best->option_edges[0].option, "alpha");
  EXPECT_EQ(best->option_edges[0].tried, (std::vector<double>{0.1, 0.2, 0.4}));
  EXPECT_TRUE(std::ranges::count(comparison.notes,
                                 "Other values of a method's own options took, besides the best: easgd alpha=0.4 "
                                 "tau=4, alpha: 3 values, 16.0 s in 2 runs."))
      << comparison.notes.back();
}

}  // namespace
}  // namespace eave
