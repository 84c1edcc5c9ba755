// Which operations easgd-tree and gossip, the methods that work in groups, ask of the transport, and how groups are
// made.
#include <gtest/gtest.h>

#include "communicator/elastic/gossip_settings.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/decorators.h"
#include "test/communicator/recording_transport.h"
#include "test/communicator/worker.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// Collective. The operations that this rank asks of the transport, one line per step.
std::string calls_of(Transport& transport, const std::string& name, const Given& given, std::int64_t steps) {
  RecordingTransport recording(transport);
  BegunWorker worker(recording, name, given, {});
  recording.calls.clear();
  std::string text;
  for (std::int64_t t = 0; t < steps; ++t) {
    worker.step();
    for (const std::string& call : recording.calls) text += std::to_string(t) + " " + call + "\n";
    recording.calls.clear();
  }
  return text;
}

TEST(EasgdTreeRounds, are_one_sum_in_each_group_and_one_more_among_first_ranks) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const std::string calls =
        calls_of(transport, "easgd-tree", {{"groups", "0+2,1+3"}, {"tau", "2"}, {"global-tau", "4"}}, 7);
    const std::string mine = transport.rank() % 2 == 0 ? "sum 37 among 0 2\n" : "sum 37 among 1 3\n";
    const std::string firsts = transport.rank() < 2 ? "4 sum 37 among 0 1\n" : "";
    EXPECT_EQ(calls, "2 " + mine + "4 " + mine + firsts + "6 " + mine);
  });
}

TEST(EasgdTreeRounds, send_2m_by_d_minus_1_over_d_per_sum_and_nothing_else) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const std::unique_ptr<CountingTransport> counting = make_counting_transport(transport);
    const Problem problem{.size = 3000};
    BegunWorker worker(*counting, "easgd-tree", {{"groups", "0-2,3"}, {"tau", "2"}, {"global-tau", "4"}}, problem);
    worker.communicator().consensus();
    const std::int64_t before = counting->counters().bytes;
    worker.run(9);  // exchanges at 2, 4, 6, 8, two of them global
    const std::int64_t m = 4 * 3000;
    const std::int64_t in_group = transport.rank() < 3 ? 4 * 2 * m * 2 / 3 : 0;
    const std::int64_t among_first = transport.rank() % 3 == 0 ? 2 * 2 * m / 2 : 0;
    worker.communicator().consensus();
    EXPECT_EQ(counting->counters().bytes - before, in_group + among_first + m * 3 / 4);
  });
}

TEST(EasgdTreeHosts, make_the_groups_unless_told_otherwise) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const CommunicatorKind& kind = find_kind(communicator_kinds(), "easgd-tree");
    std::vector<std::string> warnings;
    const auto card = [&](const Given& all, const std::vector<std::string>& hosts) {
      const OptionValues values = values_of(kind.options, all);
      return kind
          .make({.transport = transport, .values = values, .learning_rate = 0.1, .warnings = warnings, .hosts = hosts})
          ->equation();
    };
    EXPECT_TRUE(says(card({}, {"b", "a", "b", "a"}), "G = 2 groups, 0+2,1+3;"));
    EXPECT_TRUE(says(card({}, {"b", "b", "c", "a"}), "G = 3 groups, 0-1,2,3;"));
    EXPECT_TRUE(says(card({}, {}), "G = 1 group;"));
    EXPECT_TRUE(says(card({{"groups", "2"}}, {"b", "a", "b", "a"}), "G = 2 groups, 0-1,2-3;"));
  });
}

TEST(EasgdTreeGroups, must_be_those_of_the_run_that_is_resumed) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const auto given = [](const std::string& groups) -> Given { return {{"groups", groups}, {"tau", "1"}}; };
    Worker first(transport, "easgd-tree", given("2"), {}), same(transport, "easgd-tree", given("0-1,2-3"), {}),
        other(transport, "easgd-tree", given("0+2,1+3"), {});
    first.begin();
    first.run(3);
    same.begin();
    same.restore(first);
    same.step();
    other.begin();
    other.restore(first);
    EXPECT_THROW(other.step(), AgreedError);
  });
}

TEST(GossipRounds, are_one_sum_of_two_ranks_each_and_none_for_the_one_that_pauses) {
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks({"threads", ranks}, [](Transport& transport) {
      std::string expected;
      for (const std::int64_t t : {2, 4, 6, 8, 10}) {
        for (const auto& [a, b] : gossip_pairs(3, t / 2, transport.size())) {
          if (a != transport.rank() && b != transport.rank()) continue;
          expected += std::to_string(t) + " sum 37 among " + std::to_string(a) + " " + std::to_string(b) + "\n";
        }
      }
      EXPECT_EQ(calls_of(transport, "gossip", {{"tau", "2"}}, 12), expected);
    });
  }
}

TEST(GossipRounds, send_the_parameters_once_each_way) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const std::unique_ptr<CountingTransport> counting = make_counting_transport(transport);
    BegunWorker worker(*counting, "gossip", {{"tau", "2"}}, {.size = 3000});
    const std::int64_t before = counting->counters().bytes;
    worker.run(9);
    EXPECT_EQ(counting->counters().bytes - before, 4 * 4 * 3000);
    worker.consensus();
    EXPECT_EQ(counting->counters().bytes - before, 4 * 4 * 3000 + 2 * 4 * 3000 * 3 / 4);
  });
}

}  // namespace
}  // namespace eave
