// The DOWNPOUR methods with one worker. Each of them is then plain SGD.
#include <gtest/gtest.h>

#include "downpour_simulator.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

TEST(DownpourAlone, without_center_momentum_has_the_bits_of_plain_sgd) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    BegunWorker sgd(transport, "none", {}, {}, 100), alone(transport, "mdownpour", {{"center-momentum", "0"}}, {}, 100);
    EXPECT_EQ(alone.x, sgd.x);
    EXPECT_EQ(alone.consensus(), sgd.x);
  });
}

TEST(DownpourAlone, with_center_momentum_is_nesterovs_sgd) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    BegunWorker sgd(transport, "none", {}, {.momentum = 0.9, .nesterov = true}, 100),
        alone(transport, "mdownpour", {{"center-momentum", "0.9"}}, {}, 100);
    const std::vector<float> x = sgd.iterate();
    expect_near(alone.consensus(), Doubles(x.begin(), x.end()), 1e-5);
    expect_near(alone.x, Doubles(sgd.x.begin(), sgd.x.end()), 1e-5);
  });
}

TEST(DownpourAlone, is_plain_sgd_after_each_exchange) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    for (const char* tau : {"1", "4"}) {
      BegunWorker sgd(transport, "none", {}, {.momentum = 0.5}, 100),
          alone(transport, "downpour", {{"tau", tau}}, {.momentum = 0.5}, 100);
      expect_near(alone.x, Doubles(sgd.x.begin(), sgd.x.end()), 1e-6);
      EXPECT_EQ(alone.consensus(), alone.x);
    }
  });
}

}  // namespace
}  // namespace eave
