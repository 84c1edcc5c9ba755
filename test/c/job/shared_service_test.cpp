// Tests that several averagers whose ranks send requests to a center work side by side, on any transport's one service.
#include "c/shared_service.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "test/c/quadratic_loop.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

const std::string kFirst = "communicator=easgd-async tau=2 async-order=round-robin lr=0.1";
const std::string kSecond = "communicator=downpour tau=3 async-order=round-robin lr=0.1";

std::vector<float> ended_alone(Transport& transport, const std::string& options, int steps) {
  QuadraticLoop loop(transport, options);
  for (int t = 0; t < steps; ++t) loop.step();
  const std::vector<float> consensus = loop.consensus();
  loop.averager.finish();
  return consensus;
}

TEST(SharedService, gives_each_of_two_centers_the_bits_that_it_has_alone) {
  for (const int ranks : {1, 3}) {
    on_ranks({ranks == 1 ? "loopback" : "threads", ranks}, [](Transport& transport) {
      QuadraticLoop first(transport, kFirst), second(transport, kSecond);
      for (int t = 0; t < 12; ++t) {
        first.step();
        second.step();
      }
      EXPECT_EQ(first.consensus(), ended_alone(transport, kFirst, 12));
      EXPECT_EQ(second.consensus(), ended_alone(transport, kSecond, 12));
      first.averager.finish();
      second.averager.finish();
    });
  }
}

// The first center is closed while the second one goes on, and a third one opens.
TEST(SharedService, goes_on_when_one_center_of_two_is_closed) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    auto first = std::make_unique<QuadraticLoop>(transport, kFirst);
    QuadraticLoop second(transport, kSecond);
    for (int t = 0; t < 6; ++t) {
      first->step();
      second.step();
    }
    first->averager.finish();
    first.reset();
    QuadraticLoop third(transport, kFirst);
    for (int t = 0; t < 6; ++t) {
      second.step();
      third.step();
    }
    EXPECT_EQ(second.consensus(), ended_alone(transport, kSecond, 12));
    EXPECT_EQ(third.consensus(), ended_alone(transport, kFirst, 6));
    second.averager.finish();
    third.averager.finish();
  });
}

// As after an exception on all ranks that the program has caught.
TEST(SharedService, serves_a_center_that_opens_after_another_one_was_dropped) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    {
      QuadraticLoop dropped(transport, kFirst);
      for (int t = 0; t < 4; ++t) dropped.step();
      dropped.consensus();  // no request is in flight
    }
    const std::vector<float> expected = ended_alone(transport, kFirst, 6);
    EXPECT_EQ(ended_alone(transport, kFirst, 6), expected);
  });
}

}  // namespace
}  // namespace eave
