// The contract of the control channel, for every transport.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "eave/decorators.h"
#include "test/transport/numbers.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ControlContract : public testing::TestWithParam<Ranks> {};

// Polls until a message comes. Returns false if none comes within 20 s.
bool await(ControlChannel& channel, ControlMessage& message, int& from) {
  for (const auto start = Clock::now(); Clock::now() - start < 20s; std::this_thread::sleep_for(100us))
    if (channel.poll(message, from)) return true;
  return false;
}

TEST_P(ControlContract, is_there_for_several_ranks_and_behind_decorators) {
  on_ranks(GetParam(), [](Transport& job) {
    EXPECT_EQ(job.control() != nullptr, job.size() > 1);
    EXPECT_EQ(make_counting_transport(job)->control(), job.control());
    EXPECT_EQ(make_shaped_transport(job, {})->control(), job.control());
    EXPECT_EQ(make_nccl_transport(job, NcclUse::kWherePossible)->control(), job.control());
  });
}

TEST_P(ControlContract, brings_every_message_of_every_rank_once_and_in_order) {
  constexpr std::int64_t kEach = 200;
  on_ranks(GetParam(), [](Transport& job) {
    ControlChannel* const channel = job.control();
    if (!channel) return;
    for (std::int64_t k = 0; k < kEach; ++k)
      for (int to = 0; to < job.size(); ++to)
        if (to != job.rank()) channel->post(to, {7, {k, job.rank(), to, -1, 1LL << 62, 5, 6}});
    std::map<int, std::int64_t> next;
    for (std::int64_t count = 0; count < kEach * (job.size() - 1); ++count) {
      ControlMessage message;
      int from = -1;
      ASSERT_TRUE(await(*channel, message, from));
      EXPECT_EQ(message.kind, 7);
      EXPECT_EQ(message.numbers, (std::array<std::int64_t, 7>{next[from]++, from, job.rank(), -1, 1LL << 62, 5, 6}));
    }
    ControlMessage message;
    int from = -1;
    EXPECT_FALSE(channel->poll(message, from));
    job.all_gather({});  // so that no rank's message of the next test reaches a rank that still polls in this one
  });
}

// The communication threads of the other ranks wait in a sum. Rank 0 joins it only after all of them have answered its
// control message.
TEST_P(ControlContract, goes_beside_an_operation_that_waits) {
  on_ranks(GetParam(), [](Transport& job) {
    ControlChannel* const channel = job.control();
    if (!channel) return;
    std::vector<float> values = uneven_numbers(job.rank(), 100000);
    ControlMessage message;
    int from = -1;
    Pending sum;
    if (job.rank() > 0) {
      sum = job.all_reduce_sum(values);
      ASSERT_TRUE(await(*channel, message, from));
      EXPECT_EQ(from, 0);
      EXPECT_FALSE(sum.done());
      channel->post(0, message);
    } else {
      for (int to = 1; to < job.size(); ++to) channel->post(to, {1, {}});
      for (int to = 1; to < job.size(); ++to) ASSERT_TRUE(await(*channel, message, from));
      sum = job.all_reduce_sum(values);
    }
    sum.wait();
  });
}

TEST_P(ControlContract, is_used_by_a_thread_of_its_own_while_operations_run) {
  on_ranks(GetParam(), [](Transport& job) {
    ControlChannel* const channel = job.control();
    if (!channel) return;
    const int next = (job.rank() + 1) % job.size();
    std::thread guard([&] {
      for (std::int64_t k = 0; k < 100; ++k) {
        channel->post(next, {2, {k}});
        ControlMessage message;
        int from = -1;
        ASSERT_TRUE(await(*channel, message, from));
        EXPECT_EQ(message.numbers[0], k);
      }
    });
    const float ranks = static_cast<float>(job.size());
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<float> values(30000, 1.0f);
      job.all_reduce_sum(values).wait();
      ASSERT_EQ(std::ranges::count(values, ranks), std::ssize(values));
    }
    guard.join();
    job.all_gather({});
  });
}

// When the job ends, the transport discards messages that no rank has polled.
TEST_P(ControlContract, may_be_left_with_messages_on_their_way) {
  on_ranks(GetParam(), [](Transport& job) {
    if (ControlChannel* const channel = job.control()) channel->post((job.rank() + 1) % job.size(), {3, {}});
  });
}

INSTANTIATE_TEST_SUITE_P(On, ControlContract, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
