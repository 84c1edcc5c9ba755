// Tests how the ranks of a comparison are watched.
#include "app/compare/compare_guard.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/main/command_line.h"
#include "app/main/commands.h"

namespace eave {
namespace {

class NoChannel final : public ControlChannel {
 public:
  void post(int, const ControlMessage&) override {}
  bool poll(ControlMessage&, int&) override { return false; }
};

OptionValues training(const std::vector<std::string>& words) {
  const char* const none[] = {nullptr};
  return train_command_line().parse(words, none);
}

std::vector<double> limits_of(const std::vector<std::vector<std::string>>& runs) {
  std::vector<OptionValues> values;
  for (const std::vector<std::string>& words : runs) values.push_back(training(words));
  NoChannel channel;
  const WatchdogLimits limits = watchdog_settings_of_job(values, {"a", "b"}, channel).limits;
  return {limits.setup.seconds, limits.step.seconds};
}

// A rank outside the present run waits in the section of its own last run.
TEST(CompareGuard, has_the_longest_limit_of_all_runs_in_each_section) {
  const auto both = [](double seconds) { return std::vector<double>{seconds, seconds}; };
  EXPECT_EQ(limits_of({{"--limit-step=30s", "--limit-setup=10min"}}), both(600));
  EXPECT_EQ(limits_of({{"--limit-step=20min", "--limit-setup=10min"}, {"--limit-step=5s", "--limit-setup=5s"}}),
            both(1200));
  EXPECT_EQ(limits_of({{"--limit-step=5s", "--limit-setup=5s"}, {"--limit-step=0s", "--limit-setup=5s"}}), both(0));
}

}  // namespace
}  // namespace eave
