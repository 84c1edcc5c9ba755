// When easgd waits. The links are so slow that every wait shows.
#include <gtest/gtest.h>

#include "eave/decorators.h"
#include "eave/job.h"
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

TEST(EasgdOverlap, a_rank_that_fails_while_an_exchange_is_in_flight_ends_cleanly) {
  const TransportKind& threads = find_kind(transport_kinds(), "threads");
  testing::internal::CaptureStderr();
  const int code = threads.run(2, [](Transport& transport) {
    const auto slow = make_shaped_transport(transport, {.delay_seconds = kDelay, .bytes_per_second = 0});
    Worker worker(*slow, "easgd", {{"tau", "1"}}, {});
    worker.begin();
    worker.run(2);
    if (transport.rank() == 1) throw Error(ExitCode::kDiverged, "loss is not finite");
    worker.run(10);
  });
  EXPECT_EQ(code, static_cast<int>(ExitCode::kDiverged));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("loss is not finite"), std::string::npos);
}

}  // namespace
}  // namespace eave
