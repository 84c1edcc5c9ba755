// Watchdogs of several ranks in a simulated world: ranks that are silent, slow, or at work for long.
#include "guard/watchdog.h"

#include <gtest/gtest.h>

#include <chrono>
#include <semaphore>
#include <string>
#include <thread>

#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "watchdog_world.h"

namespace eave {
namespace {

using Verb = Operation::Verb;

// A file server that does not answer for some seconds.
class HungFiles final : public SingleFileCalls {
 public:
  int create(const OutputPath&, Existing) override {
    ended_.try_acquire_for(std::chrono::seconds(5));
    returned_.release();
    return -1;
  }
  std::ptrdiff_t write(int, std::string_view) override { return -1; }
  void answer() { ended_.release(); }
  bool has_returned() { return returned_.try_acquire(); }
  void wait_for_return() { returned_.acquire(); }

 private:
  std::counting_semaphore<> ended_{0}, returned_{0};
};

TEST(Watchdog, is_silent_while_calls_end) {
  World world(3);
  for (int step = 0; step < 100; ++step) {
    for (int rank = 0; rank < 3; ++rank) world.begin(rank, {});
    world.pass(20);
    for (int rank = 0; rank < 3; ++rank) world.end(rank);
  }
  EXPECT_TRUE(world.said().empty());
}

TEST(Watchdog, names_a_silent_rank_once_for_the_job_then_ends_it_with_69) {
  const TemporaryDirectory directory;
  World world(4, 100, directory.path());
  for (int rank : {0, 1, 3}) world.begin(rank, {});
  world.freeze(2);
  world.pass(24);
  EXPECT_TRUE(world.said().empty());
  world.pass(2);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "eave: warning: rank 2 on c has not answered for 25 s"));
  world.pass(70);
  EXPECT_EQ(world.said().size(), 1U);
  world.pass(6);
  ASSERT_EQ(world.said().size(), 2U);
  world.pass(6);  // the files may take longer than the simulated seconds
  ASSERT_EQ(world.said().size(), 2U);
  EXPECT_TRUE(says(world.said()[1], "eave: rank 2 on c has not answered for 100 s"));
  EXPECT_TRUE(says(world.said()[1], "the limit of set-up"));
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(world.left(rank), 69);
    EXPECT_TRUE(comes_to_exist(directory.path() / ("calls-rank-" + std::to_string(rank) + ".json")));
  }
}

TEST(Watchdog, ends_the_job_also_if_a_file_server_hangs) {
  const TemporaryDirectory directory;
  static HungFiles files;  // the threads of watchdogs may outlive the test
  World world(2, 100, directory.path(), files);
  world.begin(0, {});
  world.freeze(1);
  world.pass(108);
  EXPECT_FALSE(files.has_returned());
  EXPECT_EQ(world.left(0), 69);
  ASSERT_EQ(world.said().size(), 2U);
  EXPECT_TRUE(says(world.said()[1], "rank 1 on b has not answered for 100 s"));
  files.answer();
  files.wait_for_return();
}

TEST(Watchdog, ends_the_job_also_if_standard_error_hangs) {
  static std::counting_semaphore<> answers{0}, returned{0};  // the threads of watchdogs may outlive the test
  const auto hang = [](const std::string&) {
    answers.try_acquire_for(std::chrono::seconds(20));
    returned.release();
  };
  World world(2, 100, "", system_file_calls(), hang);
  world.begin(0, {});
  world.freeze(1);
  const auto start = std::chrono::steady_clock::now();
  world.pass(108);
  EXPECT_EQ(world.left(0), 69);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  answers.release(2);  // the warning and the reason
  returned.acquire();
  returned.acquire();
}

TEST(Watchdog, gives_a_slow_file_server_some_seconds_for_the_calls) {
  const TemporaryDirectory directory;
  static HungFiles files;
  World world(2, 100, directory.path(), files);
  world.begin(0, {});
  world.freeze(1);
  world.pass(102);
  EXPECT_EQ(world.said().size(), 2U);
  EXPECT_EQ(world.left(0), 0);
  files.answer();
  files.wait_for_return();
  for (int look = 0; look < 100 && world.left(0) == 0; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    world.pass(0.05);
  }
  EXPECT_EQ(world.left(0), 69);
}

TEST(Watchdog, says_that_the_run_goes_on_when_a_silent_rank_wakes) {
  World world(3);
  for (int rank : {0, 2}) world.begin(rank, {});
  world.freeze(1);
  world.pass(90);
  world.freeze(1, false);
  world.begin(1, {});
  for (int rank = 0; rank < 3; ++rank) world.end(rank);
  world.pass(200);
  ASSERT_EQ(world.said().size(), 2U);
  EXPECT_TRUE(says(world.said()[1], "rank 1 on b answered again, the run goes on after 90 s"));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(world.left(rank), 0);
}

TEST(Watchdog, names_a_rank_that_computes_for_long_and_ends_when_it_never_comes) {
  World world(3);
  world.rank_progress(0).enter(Section::kStep, 812);
  for (int rank : {1, 2}) world.begin(rank, {});
  world.pass(30);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "rank 0 on a is still computing step 812, for 25 s"));
  world.pass(75);
  ASSERT_EQ(world.said().size(), 2U);
  EXPECT_EQ(world.left(1), 69);
  EXPECT_EQ(world.left(0), 69) << "it is told";
}

// Rank 2 only keeps the center: it is in the next meeting long before the others.
TEST(Watchdog, warns_of_a_long_call_only_once_no_other_rank_makes_progress) {
  World world(3);
  world.begin(2, {});
  for (int step = 1; step < 100; ++step) {
    for (int rank : {0, 1}) world.rank_progress(rank).enter(Section::kStep, step);
    world.pass(5);
  }
  EXPECT_TRUE(world.said().empty());
  world.pass(10);
  EXPECT_TRUE(world.said().empty());
  world.pass(12);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "rank 0 on a is still computing step 99, and 1 more are not there yet, for 26 s"));
  world.pass(70);
  EXPECT_EQ(world.left(2), 0);
  world.pass(10);
  EXPECT_EQ(world.left(2), 69);
  ASSERT_EQ(world.said().size(), 2U);
  EXPECT_TRUE(says(world.said()[1], "rank 0 on a is still computing step 99, and 1 more are not there yet, for 100 s"));
}

// The call of rank 2 lasts 500 s when rank 1 freezes.
TEST(Watchdog, counts_how_long_a_rank_is_silent_and_not_how_long_the_call_lasts) {
  World world(3);
  world.begin(2, {});
  const auto go_on = [&world](double seconds) {
    for (double passed = 0; passed < seconds; passed += 5) {
      world.rank_progress(0).move();
      world.rank_progress(1).move();
      world.pass(5);
    }
  };
  go_on(500);
  world.freeze(1);
  go_on(30);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "rank 1 on b has not answered for 26 s"));
  world.freeze(1, false);
  go_on(100);
  for (int rank = 0; rank < 3; ++rank) {
    if (rank != 2) world.begin(rank, {});
    world.end(rank);
  }
  world.pass(5);
  ASSERT_EQ(world.said().size(), 2U);
  EXPECT_TRUE(says(world.said()[1], "rank 1 on b answered again, the run goes on after 30 s"));
  world.begin(2, {});
  go_on(500);
  world.freeze(1);
  go_on(95);
  EXPECT_EQ(world.left(2), 0);
  go_on(10);
  EXPECT_EQ(world.left(2), 69);
  EXPECT_TRUE(says(world.said().back(), "rank 1 on b has not answered for 100 s"));
}

// Rank 1 keeps the center and waits in no call, but before its next step, until rank 0 has begun that.
TEST(Watchdog, watches_rank_0_for_a_rank_that_follows_it) {
  World world(2);
  world.rank_progress(0).enter(Section::kStep, 812);
  world.rank_progress(1).begin_to_wait();
  world.pass(30);
  ASSERT_EQ(world.said().size(), 1U);
  EXPECT_TRUE(says(world.said()[0], "rank 0 on a is still computing step 812, for 25 s"));
  world.freeze(0);
  world.pass(101);
  EXPECT_EQ(world.left(1), 69);
  ASSERT_EQ(world.said().size(), 2U);
  World again(2);
  for (int step = 1; step < 100; ++step) {
    again.rank_progress(1).begin_to_wait();
    again.pass(10);
    again.rank_progress(1).end_waiting();
    again.pass(0.1);
  }
  EXPECT_TRUE(again.said().empty());
}

TEST(Watchdog, waits_for_a_rank_that_goes_on) {
  World world(2);
  world.begin(0, {});
  for (int batch = 0; batch < 20; ++batch) {
    world.rank_progress(1).enter(Section::kEvaluation, 7);
    world.pass(50);
  }
  EXPECT_EQ(world.said().size(), 1U);
  EXPECT_EQ(world.left(0), 0);
  world.pass(150);
  EXPECT_EQ(world.left(0), 69);
}

TEST(Watchdog, does_not_wait_for_one_that_goes_on_while_another_is_silent) {
  World world(3);
  world.begin(0, {});
  world.freeze(2);
  for (int batch = 0; batch < 11; ++batch) {
    world.rank_progress(1).move();
    world.pass(10);
  }
  EXPECT_EQ(world.left(0), 69);
}

TEST(Watchdog, has_a_limit_for_each_section_and_none_where_it_is_0) {
  World world(2);
  world.rank_progress(0).enter(Section::kCheckpoint, 9);
  world.begin(0, {});
  world.freeze(1);
  world.pass(49);
  EXPECT_EQ(world.left(0), 0);
  world.pass(3);
  EXPECT_EQ(world.left(0), 69);
  World patient(2, 0);
  patient.begin(0, {});
  patient.freeze(1);
  patient.pass(10000);
  EXPECT_TRUE(patient.said().empty());
}

// Ranks 1 and 3 have sent their texts and wait for rank 0's broadcast of the result. Rank 0 waits for rank 2.
TEST(Watchdog, names_the_rank_that_all_others_wait_for_in_one_call_or_the_next) {
  const std::string text = "text";
  World world(4);
  world.begin(0, {.verb = Verb::kGather, .mine = &text});
  for (int rank : {1, 3}) {
    world.begin(rank, {.verb = Verb::kGather, .mine = &text});
    world.end(rank);
    world.begin(rank, {.verb = Verb::kBroadcastText, .mine = &text});
  }
  world.pass(101);
  ASSERT_EQ(world.said().size(), 2U);
  EXPECT_TRUE(says(world.said()[0], "rank 2 on c is still setting up, for"));
  EXPECT_TRUE(says(world.said()[1], "rank 2 on c is still setting up"));
}

}  // namespace
}  // namespace eave
