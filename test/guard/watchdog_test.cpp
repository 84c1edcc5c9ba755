// Watchdogs of several ranks in a simulated world, whose clock only the test moves.
#include "guard/watchdog.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/files/input_file.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

using Verb = Operation::Verb;

// Ranks 0, 1, ... on hosts a, b, ... with a watchdog each. Time passes and messages arrive only in pass().
class World {
 public:
  explicit World(int size, double limit = 100, const std::string& directory = "",
                 FileCalls& files = system_file_calls()) {
    WatchdogSettings settings;
    settings.directory = directory;
    settings.files = &files;
    settings.limits = {
        {limit, "the limit of set-up"}, {limit, "the limit of steps"}, {limit / 2, "that of checkpoints"}};
    for (int rank = 0; rank < size; ++rank) settings.hosts.push_back(std::string(1, static_cast<char>('a' + rank)));
    for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>(rank, size, *this));
    for (auto& each : ranks_) {
      settings.say = [this](const std::string& line) { said_.push_back(line); };
      settings.leave = [&each](ExitCode code) { each->left = static_cast<int>(code); };
      each->watchdog = std::make_unique<Watchdog>(*each, each->calls, each->rank_progress, each->rank, settings);
    }
  }

  void pass(double seconds) {
    for (double passed = 0; passed < seconds; passed += 0.05)
      for (auto& each : ranks_)
        if (!each->is_frozen && each->left == 0) each->look();
  }
  void begin(int rank, const Operation::Request& request) { at(rank).calls.begin(request); }
  void end(int rank) { at(rank).calls.end(); }
  void begin_on_device(int rank, const Operation::Request& request) { device_calls(rank).begin(request); }
  void end_on_device(int rank) { device_calls(rank).end(); }
  // On all ranks, as the guards of `eave train` and of programs see it: after the watchdogs were made.
  void show_device_calls(bool are_of_parts = false) {
    for (auto& each : ranks_) {
      each->device_calls = std::make_shared<CallRecord>(static_cast<int>(ranks_.size()), true);
      each->rank_progress.device_calls().show(each->device_calls, are_of_parts);
    }
  }
  void hide_device_calls(int rank) { rank_progress(rank).device_calls().show(nullptr); }
  void freeze(int rank, bool is_frozen = true) { at(rank).is_frozen = is_frozen; }
  RankProgress& rank_progress(int rank) { return at(rank).rank_progress; }
  void leave(int rank) { at(rank).watchdog->leave(); }
  bool has_left(int rank) { return at(rank).watchdog->has_left(); }
  int left(int rank) { return at(rank).left; }
  const std::vector<std::string>& said() const { return said_; }

 private:
  struct Rank final : ControlChannel {
    Rank(int rank_of, int size, World& world_of) : rank(rank_of), world(world_of), calls(size) {}
    void post(int to, const ControlMessage& message) override { world.at(to).come.emplace_back(rank, message); }
    bool poll(ControlMessage&, int&) override { return false; }
    void look() {
      for (; !come.empty(); come.pop_front()) EXPECT_TRUE(watchdog->handle(come.front().first, come.front().second));
      watchdog->tick(0.05);
    }
    const int rank;
    World& world;
    CallRecord calls;
    std::shared_ptr<CallRecord> device_calls;
    RankProgress rank_progress;
    std::deque<std::pair<int, ControlMessage>> come;
    std::unique_ptr<Watchdog> watchdog;
    bool is_frozen = false;
    int left = 0;
  };
  CallRecord& device_calls(int rank) {
    if (!at(rank).device_calls) show_device_calls();
    return *at(rank).device_calls;
  }
  Rank& at(int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::string> said_;
};

// Watchdogs write their files in threads of their own.
bool comes_to_exist(const std::filesystem::path& path) {
  for (int look = 0; look < 1000 && !std::filesystem::exists(path); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return std::filesystem::exists(path);
}

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
