// Tests the watches of two ranks over a channel in memory, whose test's thread plays the threads of both guards, and
// texts of ranks that are in different functions.
#include "c/call_watch.h"

#include <gtest/gtest.h>

#include <deque>

#include "c/matched_transport.h"
#include "eave/agreement.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using Function = InterfaceCall::Function;

class Pair {
 public:
  explicit Pair(std::int64_t generation_of_1 = 0)
      : watches_{CallWatch(channels_[0], 0, {"a", "b"}, 1, 0, end(0)),
                 CallWatch(channels_[1], 1, {"a", "b"}, 1, generation_of_1, end(1))} {}

  CallWatch& operator[](std::size_t rank) { return watches_[rank]; }

  void pass(double seconds) {
    for (double passed = 0; passed < seconds; passed += 0.05) {
      for (CallWatch& watch : watches_) watch.tick(0.05);
      for (std::size_t to : {0, 1}) {
        while (!channels_[1 - to].posted.empty()) {
          const ControlMessage message = channels_[1 - to].posted.front();
          channels_[1 - to].posted.pop_front();
          EXPECT_TRUE(watches_[to].handle(static_cast<int>(1 - to), message));
        }
      }
    }
  }

  std::string told[2];

 private:
  struct Channel final : ControlChannel {
    void post(int, const ControlMessage& message) override { posted.push_back(message); }
    bool poll(ControlMessage&, int&) override { return false; }
    std::deque<ControlMessage> posted;
  };

  std::function<void(ExitCode, const std::string&)> end(int rank) {
    return [this, rank](ExitCode code, const std::string& message) {
      EXPECT_EQ(code, ExitCode::kPeerLost);
      told[rank] = message;
    };
  }

  Channel channels_[2];
  CallWatch watches_[2];
};

void step(CallWatch& watch, std::int64_t number) {
  watch.enter({Function::kStep, number});
  watch.leave(true);
}

TEST(CallWatch, names_both_places_if_two_ranks_call_other_functions) {
  Pair ranks;
  for (std::size_t rank : {0, 1}) step(ranks[rank], 1);
  ranks[0].enter({Function::kStep, 2});
  ranks[1].enter({Function::kClose, 1});
  ranks.pass(0.8);
  EXPECT_EQ(ranks.told[0] + ranks.told[1], "");
  ranks.pass(0.5);
  for (const std::string& told : ranks.told) {
    EXPECT_NE(told.find("rank 0 on a is in step 2"), std::string::npos) << told;
    EXPECT_NE(told.find("rank 1 on b has closed its averager after 1 step"), std::string::npos) << told;
  }
}

TEST(CallWatch, finds_a_difference_that_the_other_rank_is_already_past) {
  Pair ranks;
  ranks[0].enter({Function::kConsensus, 0});
  step(ranks[1], 1);
  ranks[1].enter({Function::kStep, 1});
  ranks.pass(1.5);
  EXPECT_NE(ranks.told[0].find("asks for the consensus after 0 steps"), std::string::npos) << ranks.told[0];
}

TEST(CallWatch, waits_for_a_rank_that_has_not_come_so_far) {
  Pair ranks;
  ranks[0].enter({Function::kStep, 1});
  ranks.pass(20);
  step(ranks[1], 1);
  ranks.pass(2);
  EXPECT_EQ(ranks.told[0] + ranks.told[1], "");
}

TEST(CallWatch, does_not_count_a_call_that_has_been_refused) {
  Pair ranks;
  ranks[1].enter({Function::kConsensus, 0});
  ranks[1].leave(false);
  for (std::size_t rank : {0, 1}) ranks[rank].enter({Function::kStep, 1});
  ranks.pass(3);
  EXPECT_EQ(ranks.told[0] + ranks.told[1], "");
}

TEST(CallWatch, drops_questions_of_a_watch_that_is_gone) {
  Pair ranks(1);
  ranks[0].enter({Function::kStep, 1});
  ranks[1].enter({Function::kClose, 0});
  ranks.pass(3);
  EXPECT_EQ(ranks.told[0] + ranks.told[1], "");
}

TEST(CallWatch, asks_at_once_in_doubt) {
  Pair ranks;
  step(ranks[1], 1);
  ranks[0].enter({Function::kSum, 0});
  ranks[0].doubt();
  ranks.pass(0.2);
  EXPECT_NE(ranks.told[0].find("sums numbers"), std::string::npos) << ranks.told[0];
}

TEST(MatchedTransport, passes_on_texts_of_ranks_in_one_function) {
  on_ranks({"threads", 3}, [](Transport& ranks) {
    MatchedTransport transport(ranks);
    for (const Function function : {Function::kOpen, Function::kStep, Function::kState}) {
      transport.enter(function);
      const std::string mine = std::to_string(transport.rank());
      EXPECT_EQ(transport.all_gather(mine), (std::vector<std::string>{"0", "1", "2"}));
      EXPECT_EQ(transport.broadcast_text(mine), "0");
      EXPECT_EQ(transport.gather("").size(), transport.rank() == 0 ? 3 : 0);
      EXPECT_EQ(transport.scatter({"for 0", "", "for 2"}), transport.rank() == 1 ? "" : "for " + mine);
      EXPECT_EQ(sum_over_ranks(transport, {1, 2}), (std::vector<double>{3, 6}));
    }
  });
}

TEST(MatchedTransport, refuses_texts_of_another_function) {
  on_ranks({"threads", 2}, [](Transport& ranks) {
    MatchedTransport transport(ranks);
    transport.enter(transport.rank() == 0 ? Function::kConsensus : Function::kSum);
    expect_error(ExitCode::kPeerLost, "out of step", [&] { transport.all_gather("256"); });
  });
}

TEST(SumOverRanks, refuses_rows_of_unequal_length_on_all_ranks) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const std::vector<double> mine(transport.rank() == 0 ? 1 : 2);
    expect_error(ExitCode::kConfiguration, "rank 0 sums 1 number, and rank 1 2",
                 [&] { sum_over_ranks(transport, mine); });
  });
}

}  // namespace
}  // namespace eave
