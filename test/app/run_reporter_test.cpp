// Tests what is said at the end of a run.
#include "app/run/run_reporter.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

RunSummary run_of_90_seconds() {
  RunSummary summary;
  summary.seconds = 90;
  summary.checkpoints = 2;
  summary.checkpoint_seconds = 10;
  summary.times_of_ranks.push_back({.computing = 20, .loading = 4, .exchanging = 3, .waiting = 6});
  return summary;
}

TEST(Totals, have_the_share_of_time_in_checkpoints) {
  EXPECT_EQ(describe_totals(run_of_90_seconds(), false),
            "2 checkpoints kept training waiting for 10 s, 10 % of its time\n");
}

TEST(Totals, of_a_run_that_did_little_else_than_save_say_100_percent) {
  RunSummary summary = run_of_90_seconds();
  summary.seconds = 0.01;
  EXPECT_EQ(describe_totals(summary, false), "2 checkpoints kept training waiting for 10 s, 100 % of its time\n");
}

// Rank 0 has trained for 30 s since the run was resumed, and the checkpoints are those since then.
TEST(Totals, of_a_resumed_run_are_those_since_it_was_resumed) {
  EXPECT_EQ(describe_totals(run_of_90_seconds(), true),
            "2 checkpoints kept training waiting for 10 s, 25 % of its time since it was resumed\n");
}

}  // namespace
}  // namespace eave
