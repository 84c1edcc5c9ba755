// Tests how the numbers of a comparison are written.
#include "report/compare/number_style.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "report/compare/comparison.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

// With two seeds and ten methods, the correction asks for intervals whose ends have more than 20 digits.
TEST(NumberStyle, writes_no_end_of_a_lead_that_is_a_thousandfold) {
  const MadeRuns place;
  const auto add = [&](const std::string& method, double first, double second) {
    for (const auto& [seed, seconds] : {std::pair(1, first), std::pair(2, second)})
      make_run(place, method + std::to_string(seed),
               {.communicator = method, .seed = seed, .accuracies = {0.4, 0.8}, .seconds = seconds});
  };
  add("allreduce", 4, 8);
  for (const char* method :
       {"easgd", "none", "gossip", "local-sgd", "bmuf", "slowmo", "diloco", "easgd-async", "easgd-tree"})
    add(method, 8, 8.01);
  expect_parts(compare_runs(read_made(place), 0.8).verdict.at(1),
               {"that it was 1.42 times as fast as ", " (less than 0.001 to more than 1000, p = 1) may be chance"});
}

TEST(NumberStyle, cuts_ends_far_from_the_value) {
  EXPECT_EQ(kTimes.end_text(999, 2), "999.00");
  EXPECT_EQ(kTimes.end_text(1001, 2), "more than 1000");
  EXPECT_EQ(kTimes.end_text(INFINITY, 20), "more than 10000");
  EXPECT_EQ(kTimes.end_text(1e-9, 0.5), "less than 0.0001");
  EXPECT_EQ(kTimes.end_text(0, 2), "0.00");
  EXPECT_EQ(kPercent.end_text(0.7, 0.86), "70.00");
}

}  // namespace
}  // namespace eave
