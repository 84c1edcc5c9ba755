// Watchdogs of several ranks in a simulated world: they compare the calls of ranks, of devices too, and leave together.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files/input_file.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "watchdog_world.h"

namespace eave {
namespace {

using Verb = Operation::Verb;

TEST(Watchdog, ends_with_70_and_names_both_calls_where_ranks_are_out_of_step) {
  std::vector<float> values(4);
  World world(4);
  for (int rank = 0; rank < 4; ++rank) {
    world.begin(rank, {.values = values});
    world.end(rank);
    world.begin(rank, rank == 2 ? Operation::Request{.verb = Verb::kBroadcast, .values = values, .root = 1}
                                : Operation::Request{.values = values});
  }
  world.pass(4);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "out of step"));
  EXPECT_TRUE(says(world.said()[0], "rank 0 on a called a sum of 16 bytes (call 1)"));
  EXPECT_TRUE(says(world.said()[0], "rank 2 on c a broadcast of 16 bytes from rank 1 (call 1)"));
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(world.left(rank), 70);
}

// Rank 1 has finished the call that differed from rank 0's, and is in a later call.
TEST(Watchdog, finds_a_rank_that_was_out_of_step_and_went_on) {
  std::vector<float> values(4);
  World world(2);
  world.begin(0, {.values = values});
  world.begin(1, {.values = Slice(values).first(2)});
  world.end(1);
  world.begin(1, {.values = values});
  world.pass(4);
  EXPECT_EQ(world.left(0), 70);
  EXPECT_EQ(world.left(1), 70);
  EXPECT_EQ(world.said().size(), 1U);
}

// Call 0 differed between the ranks, but the messages of one were accepted as those of the other. By now the ranks are
// in the same call again.
TEST(Watchdog, finds_where_ranks_that_are_in_step_again_had_parted) {
  std::vector<float> values(4);
  World world(2);
  world.begin(0, {.values = values});
  world.begin(1, {.verb = Verb::kBroadcast, .values = values, .root = 1});
  for (int call = 0; call < 4; ++call) {
    for (int rank = 0; rank < 2; ++rank) {
      world.end(rank);
      world.begin(rank, {.values = values});
    }
  }
  world.pass(4);
  EXPECT_EQ(world.left(0), 70);
  EXPECT_EQ(world.left(1), 70);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "at meeting 0 of all"));
  EXPECT_TRUE(says(world.said()[0], "a broadcast of 16 bytes from rank 1 (call 0)"));
}

TEST(Watchdog, looks_at_the_calls_that_the_device_carries_out) {
  const TemporaryDirectory directory;
  World world(2, 100, directory.path());
  world.begin(1, {});
  world.end(1);
  world.begin_on_device(0, {});
  world.pass(26);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "rank 1 on b is still setting up, for 25 s"));
  world.pass(82);
  EXPECT_EQ(world.left(0), 69);
  ASSERT_TRUE(comes_to_exist(directory.path() / "calls-rank-0.json"));
  const std::string calls = read_file(directory.path() / "calls-rank-0.json");
  EXPECT_TRUE(says(calls, "\"calls\": [\n],\n\"device_calls\": [\n{\"sequence\": 0")) << calls;
}

// Between calls of the device, the first kind of call is looked at, and the other way round.
TEST(Watchdog, looks_at_the_call_that_began_first) {
  World world(2);
  world.begin(0, {});
  for (int step = 0; step < 20; ++step) {
    world.begin_on_device(0, {});
    world.pass(5.2);
    world.end_on_device(0);
  }
  EXPECT_EQ(world.left(0), 69);
}

TEST(Watchdog, compares_calls_of_the_device_with_each_other_alone) {
  std::vector<float> values(4);
  World world(2);
  for (int rank = 0; rank < 2; ++rank) {
    world.begin(rank, {.verb = Verb::kBroadcast, .values = values, .root = rank});  // out of step, but nobody waits
    world.end(rank);
    world.begin_on_device(rank, {.values = values});
  }
  world.pass(20);
  EXPECT_TRUE(world.said().empty());
  for (int rank = 0; rank < 2; ++rank) {
    world.end_on_device(rank);
    world.begin_on_device(rank, {.values = Slice(values).first(rank == 0 ? 4 : 2)});
  }
  world.pass(4);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "rank 0 on a called a sum of 16 bytes between GPUs (call 1)"));
  EXPECT_TRUE(says(world.said()[0], "rank 1 on b a sum of 8 bytes between GPUs (call 1)"));
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(world.left(rank), 70);
}

// As in `eave compare`, whose parts do not sum the same.
TEST(Watchdog, does_not_compare_calls_of_devices_of_different_parts) {
  std::vector<float> values(4);
  World world(2);
  world.show_device_calls(true);
  for (int rank = 0; rank < 2; ++rank) world.begin_on_device(rank, {.values = Slice(values).first(rank == 0 ? 4 : 2)});
  world.pass(26);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "all ranks answer, and rank 0 on a is in a sum of 16 bytes between GPUs (call 0)"));
  world.pass(76);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(world.left(rank), 69);
}

TEST(Watchdog, does_not_compare_calls_of_a_device_with_those_of_a_rank_that_has_none_yet) {
  World world(2);
  world.show_device_calls();
  world.begin(1, {.verb = Verb::kBroadcast});
  world.end(1);
  world.hide_device_calls(1);
  world.begin_on_device(0, {});
  world.pass(26);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "rank 1 on b is still setting up, for 25 s"));
}

TEST(Watchdog, leaves_when_all_do_and_finds_who_waits_for_one_that_is_through) {
  World world(3);
  world.leave(0);
  world.begin(1, {});
  world.pass(1);
  EXPECT_FALSE(world.has_left(0));
  world.end(1);
  for (int rank : {1, 2}) world.leave(rank);
  world.pass(0.2);
  for (int rank : {0, 1, 2}) EXPECT_TRUE(world.has_left(rank));
  World waiting(2);
  waiting.leave(1);
  waiting.begin(0, {});
  waiting.pass(4);
  EXPECT_EQ(waiting.left(0), 70);
  EXPECT_TRUE(says(waiting.said().at(0), "rank 1 on b nothing"));
}

TEST(Watchdog, finds_where_a_rank_that_is_through_had_parted) {
  std::vector<float> values(4);
  World world(2);
  world.begin(0, {.values = values});
  world.begin(1, {.verb = Verb::kBroadcast, .values = values, .root = 1});
  for (int rank = 0; rank < 2; ++rank) {
    world.end(rank);
    world.begin(rank, {.values = values});
    world.end(rank);
  }
  world.leave(0);
  world.begin(1, {.values = values});
  world.pass(5);
  EXPECT_EQ(world.left(0), 70);
  EXPECT_EQ(world.left(1), 70);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "at meeting 0 of all"));
}

TEST(Watchdog, takes_no_rank_that_is_ahead_for_one_out_of_step) {
  World world(2);
  for (int call = 0; call < 3; ++call) {
    world.begin(1, {.verb = call == 0 ? Verb::kAllReduceSum : Verb::kBroadcast});
    world.end(1);
  }
  world.begin(0, {});
  world.pass(20);
  EXPECT_TRUE(world.said().empty());
}

}  // namespace
}  // namespace eave
