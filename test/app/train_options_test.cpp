#include "app/options/train_options.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "eave/communicator.h"

namespace eave {
namespace {

TEST(TrainOptions, every_communicator_and_its_options_are_in_the_help) {
  const std::string help = train_command_line().help();
  for (const CommunicatorKind& kind : communicator_kinds()) {
    EXPECT_NE(help.find(kind.name), std::string::npos);
    for (const OptionSpec& option : kind.options) EXPECT_NE(help.find("--" + option.name), std::string::npos);
  }
}

TEST(TrainOptions, slow_rank_is_rank_colon_factor_x) {
  const SlowRank slow = parse_slow_rank("2:4x", 3);
  EXPECT_EQ(slow.rank, 2);
  EXPECT_EQ(slow.factor, 4);
  for (const char* text : {"2", "2:4", "3:4x", "-1:4x", "2:0.5x", "2:4xx", "x", "2:nanx", ""}) {
    EXPECT_THROW(parse_slow_rank(text, 3), Error) << text;
  }
}

}  // namespace
}  // namespace eave
