// When easgd-tree and gossip, the methods that work in groups, wait. The links are so slow that every wait shows.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "communicator/elastic/gossip_settings.h"
#include "eave/check.h"
#include "eave/decorators.h"
#include "test/communicator/exchanges.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

Given tree(const std::string& overlap) {
  return {{"groups", "2"}, {"tau", "6"}, {"global-tau", "6"}, {"overlap", overlap}};
}

TEST(EasgdTreeOverlap, no_step_waits_before_a_center_is_read_again) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const auto [steps, consensus] = waiting(transport, "easgd-tree", tree("on"));
    EXPECT_EQ(steps, 0);
    // Each rank waits for the sum of its group and for the broadcast. First ranks of groups also wait for each other.
    EXPECT_GT(consensus, 1.5 * kDelay);
  });
}

TEST(EasgdTreeOverlap, off_waits_in_the_step_that_exchanges) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    EXPECT_GT(waiting(transport, "easgd-tree", tree("off")).first, (transport.rank() % 2 == 0 ? 1.5 : 0.5) * kDelay);
  });
}

TEST(EasgdTreeOverlap, groups_do_not_wait_for_each_other_between_global_exchanges) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    BegunWorker worker(transport, "easgd-tree", {{"groups", "2"}, {"tau", "1"}, {"global-tau", "100"}}, {});
    const double at_start = worker.communicator().costs().seconds_waiting;
    const auto began = std::chrono::steady_clock::now();
    if (transport.rank() >= 2) sleep(10 * kDelay);
    worker.run(20);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (transport.rank() < 2) {
      EXPECT_LT(worker.communicator().costs().seconds_waiting - at_start, 5 * kDelay);
      EXPECT_LT(took.count(), 5 * kDelay);
    }
  });
}

// The seconds that one exchange of gossip waits, if computing the gradients takes `gradients` seconds.
double gossip_waiting(Communicator& communicator, const Step& step, double gradients) {
  const double before = communicator.costs().seconds_waiting;
  communicator.before_gradients(step);
  sleep(gradients);
  (void)communicator.before_update(step);
  return communicator.costs().seconds_waiting - before;
}

TEST(GossipOverlap, hides_an_exchange_behind_gradients_that_take_as_long) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const auto slow = make_shaped_transport(transport, {.delay_seconds = kDelay, .bytes_per_second = 0});
    BegunWorker worker(*slow, "gossip", {{"tau", "1"}}, {});
    EXPECT_LT(gossip_waiting(worker.communicator(), {1, 1, 2, 0.1}, 3 * kDelay), 0.5 * kDelay);
    EXPECT_GT(gossip_waiting(worker.communicator(), {2, 1, 2, 0.1}, 0), 0.5 * kDelay);
  });
}

TEST(GossipOverlap, pairs_do_not_wait_for_other_pairs) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    BegunWorker worker(transport, "gossip", {{"tau", "1"}}, {});
    const auto [late, with_it] = gossip_pairs(3, 1, 4).front();
    const bool is_free = transport.rank() != late && transport.rank() != with_it;
    if (transport.rank() == late) sleep(10 * kDelay);
    const double waited = gossip_waiting(worker.communicator(), {1, 1, 4, 0.1}, 0);
    if (is_free) {
      EXPECT_LT(waited, 5 * kDelay) << transport.rank();
    } else if (transport.rank() == with_it) {
      EXPECT_GT(waited, 5 * kDelay);
    }
  });
}

TEST(Overlap, a_rank_that_fails_while_an_exchange_is_in_flight_ends_cleanly) {
  const std::pair<std::string, Given> methods[] = {{"easgd", {{"tau", "1"}}},
                                                   {"easgd-tree", {{"groups", "2"}, {"tau", "1"}, {"global-tau", "1"}}},
                                                   {"gossip", {{"tau", "1"}}}};
  for (const auto& [name, given] : methods) {
    const JobResult ended = run_job({"threads", 4}, [&, name = name, given = given](Transport& transport) {
      const auto slow = make_shaped_transport(transport, {.delay_seconds = kDelay, .bytes_per_second = 0});
      BegunWorker worker(*slow, name, given, {}, 1);
      if (transport.rank() == 1) {
        worker.run(1);
        worker.communicator().before_gradients({2, 1, 4, 0.1});
        throw Error(ExitCode::kDiverged, "loss is not finite");
      }
      worker.run(10);
    });
    EXPECT_EQ(ended.code, static_cast<int>(ExitCode::kDiverged)) << name;
    EXPECT_TRUE(says(ended.printed, "loss is not finite")) << name;
  }
}

}  // namespace
}  // namespace eave
