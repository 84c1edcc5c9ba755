// When easgd waits. The links are so slow that every wait shows.
#include <gtest/gtest.h>

#include "test/communicator/exchanges.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

TEST(EasgdOverlap, no_step_waits_before_the_center_is_read_again) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const auto [steps, consensus] = waiting(transport, "easgd", {{"tau", "6"}});
    EXPECT_EQ(steps, 0);
    EXPECT_GT(consensus, 0.5 * kDelay);
    EXPECT_EQ(waiting(transport, "easgd", {{"tau", "6"}, {"order", "after-step"}}).first, 0);
  });
}

TEST(EasgdOverlap, off_waits_in_the_step_that_exchanges) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const auto [steps, consensus] = waiting(transport, "easgd", {{"tau", "6"}, {"overlap", "off"}});
    EXPECT_GT(steps, 0.5 * kDelay);
    EXPECT_EQ(consensus, 0);
  });
}

TEST(EasgdOverlap, center_first_waits_for_the_center_it_follows) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const auto [steps, consensus] = waiting(transport, "easgd", {{"tau", "6"}, {"order", "center-first"}});
    EXPECT_GT(steps, 0.5 * kDelay);
    EXPECT_EQ(consensus, 0);
  });
}

}  // namespace
}  // namespace eave
