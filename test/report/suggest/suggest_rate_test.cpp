// Tests the learning rate that `eave suggest` advises.
#include <gtest/gtest.h>

#include "report/suggest/suggestion.h"

namespace eave {
namespace {

RateAdvice advice(bool averaged_before, int before, bool averages, int workers,
                  std::map<std::string, std::string> more = {}) {
  more.insert({"lr", "0.1"});
  return rate_advice({more, before, averaged_before, workers, averages, ""});
}

TEST(SuggestedRate, follows_the_root_of_the_workers_whose_gradients_are_averaged) {
  EXPECT_EQ(advice(true, 2, true, 2).lr, "0.1");
  EXPECT_EQ(advice(true, 2, true, 8).lr, "0.2");
  EXPECT_EQ(advice(true, 1, true, 2).lr, "0.141");
  EXPECT_EQ(advice(false, 4, true, 4).lr, "0.2");  // each replica had the rate of its own batch
  EXPECT_NE(advice(true, 1, true, 8).sentence.find("bench/questions/3-learning-rate.md"), std::string::npos);
  EXPECT_EQ(advice(true, 1, true, 8).sentence.find("no rule held beyond 8"), std::string::npos);
  EXPECT_NE(advice(true, 1, true, 16).sentence.find("no rule held beyond 8"), std::string::npos);
}

TEST(SuggestedRate, stays_where_each_replica_keeps_its_batch) {
  EXPECT_EQ(advice(false, 1, false, 8).lr, "0.1");
  EXPECT_EQ(advice(true, 4, false, 8).lr, "0.1");
  EXPECT_NE(advice(true, 4, false, 8).sentence.find("a smaller rate may be better"), std::string::npos);
}

TEST(SuggestedRate, leaves_a_rule_of_the_run_in_force) {
  const RateAdvice kept = advice(true, 2, true, 8, {{"lr-scaling", "linear"}});
  EXPECT_EQ(kept.lr, "0.1");
  EXPECT_TRUE(kept.keeps_scaling);
  EXPECT_NE(kept.sentence.find("with more than 4 workers sqrt was better"), std::string::npos);
  EXPECT_EQ(rate_advice({{}, 1, false, 4, true, ""}).lr, "");
}

}  // namespace
}  // namespace eave
