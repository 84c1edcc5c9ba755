// Tests which settings may differ between the ranks of a job, and between a run and its resumption.
#include "app/run/run_settings.h"

#include <gtest/gtest.h>

#include "app/options/shared_options.h"
#include "test/expectations.h"

namespace eave {
namespace {

CommandLine line_that_meets() {
  CommandLine line("usage: sample");
  line.add_group("Ranks",
                 {{"meet", OptionType::kText, "", "where"}, {"meet-limit", OptionType::kSeconds, "", "how long"}});
  line.add_group("Training", {{"tau", OptionType::kInteger, "1", "steps between exchanges"}});
  return line;
}

// One rank is given the name of rank 0's host, another its address.
TEST(RankSettings, leave_out_where_the_ranks_meet) {
  const CommandLine line = line_that_meets();
  const auto settings = [&](const std::vector<std::string>& words) {
    return settings_of_rank("train", line, line.parse(words));
  };
  const auto by_name = settings({"--meet", "node1:29400", "--meet-limit", "1min", "--tau", "4"});
  EXPECT_EQ(by_name, settings({"--meet", "10.0.0.1:29400", "--tau", "4"}));
  EXPECT_NE(by_name, settings({"--meet", "node1:29400", "--tau", "5"}));
}

// Each job of a batch system has another host for rank 0.
TEST(RankSettings, of_a_resumed_run_may_have_another_place_to_meet) {
  require_same_settings({{"meet", "node1:29400"}, {"tau", "4"}}, {{"meet", "node7:29400"}, {"tau", "4"}});
  EXPECT_EQ(code_of([] { require_same_settings({{"tau", "4"}}, {{"tau", "5"}}); }), ExitCode::kConfiguration);
}

TEST(RankSettings, auto_takes_a_place_to_meet_and_refuses_a_limit_without_one) {
  CommandLine line("usage: sample");
  add_transport(line);
  EXPECT_EQ(line.parse({"--meet", "node1:29400", "--meet-limit", "1min"}).text("meet"), "node1:29400");
  EXPECT_EQ(code_of([&] { ranks_in_process(line.parse({"--meet-limit", "1min"})); }), ExitCode::kUsage);
}

}  // namespace
}  // namespace eave
