// CallRecord: the communication thread's record of its last operations, and the file that a guard writes from it.
#include "transport/core/call_record.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "eave/decorators.h"
#include "guard/watchdog_report.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using Verb = Operation::Verb;

void call(CallRecord& record, const Operation::Request& request) {
  record.begin(request);
  record.end();
}

TEST(CallRecord, keeps_the_last_1024_calls) {
  const auto record = std::make_unique<CallRecord>(2);
  std::vector<float> values(2000);
  for (std::size_t k = 0; k < values.size(); ++k) {
    call(*record, {.verb = Verb::kAllReduceSum, .values = Slice(values).first(k)});
  }
  EXPECT_EQ(record->begun(), 2000);
  EXPECT_FALSE(record->call(975));
  EXPECT_FALSE(record->call(2000));
  for (std::int64_t k = 976; k < 2000; ++k) {
    ASSERT_TRUE(record->call(k));
    EXPECT_EQ(record->call(k)->bytes, 4 * k);
  }
}

TEST(CallRecord, tells_what_is_under_way) {
  const auto record = std::make_unique<CallRecord>(4);
  EXPECT_FALSE(record->under_way());
  record->begin({.verb = Verb::kBroadcast, .root = 3});
  ASSERT_TRUE(record->under_way());
  EXPECT_EQ(record->under_way()->root, 3);
  EXPECT_EQ(record->under_way()->ranks, 4);
  record->end();
  EXPECT_FALSE(record->under_way());
  record->end();
  EXPECT_GE(record->call(0)->end, record->call(0)->begin);
}

TEST(CallRecord, goes_on_in_a_part_of_the_job_whose_calls_are_not_those_of_all) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    const CallRecord& calls = *transport.calls();
    std::vector<float> values(5);
    if (const std::unique_ptr<Transport> part = transport.split(transport.rank() < 2 ? 0 : -1)) {
      const std::int64_t begun = calls.begun(), collectives = calls.collectives();
      part->all_reduce_sum(values).wait();
      EXPECT_EQ(calls.begun(), begun + 1);
      EXPECT_EQ(calls.collectives(), collectives);
      EXPECT_EQ(calls.call(begun)->ranks, 2);
      EXPECT_EQ(calls.call(begun)->collective, -1);
    }
    transport.all_reduce_sum(values).wait();
    EXPECT_EQ(calls.call(calls.begun() - 1)->ranks, 3);
    EXPECT_EQ(calls.call(calls.begun() - 1)->collective, calls.collectives() - 1);
  });
}

TEST(CallRecord, counts_as_collectives_what_all_ranks_take_part_in) {
  const auto record = std::make_unique<CallRecord>(3);
  const std::vector<int> pair{0, 2}, all{0, 1, 2};
  const std::string text = "four";
  call(*record, {.verb = Verb::kAllReduceSum});
  call(*record, {.verb = Verb::kAllReduceSum, .ranks = pair});
  call(*record, {.verb = Verb::kRequest});
  call(*record, {.verb = Verb::kAllReduceSum, .ranks = all});
  call(*record, {.verb = Verb::kAllGather, .mine = &text});
  std::vector<std::int64_t> collectives;
  for (std::int64_t k = 0; k < 5; ++k) collectives.push_back(record->call(k)->collective);
  EXPECT_EQ(collectives, (std::vector<std::int64_t>{0, -1, -1, 1, 2}));
  EXPECT_EQ(record->call_of_collective(1)->sequence, 3);
  EXPECT_EQ(record->call_of_collective(2)->bytes, 4);
  EXPECT_FALSE(record->call_of_collective(3));
  EXPECT_EQ(record->call(1)->ranks, 2);
}

TEST(CallRecord, is_read_whole_while_it_is_written) {
  const auto record = std::make_unique<CallRecord>(2);
  std::vector<float> values(1);
  std::thread writer([&] {
    for (int k = 0; k < 200000; ++k) call(*record, {.verb = Verb::kBroadcast, .root = k});
  });
  std::int64_t found = 0;
  while (record->begun() < 200000) {
    for (const std::int64_t behind : {0, 500, 1023}) {
      const std::optional<Call> each = record->call(record->begun() - 1 - behind);
      if (!each) continue;
      ++found;
      ASSERT_EQ(each->sequence, each->root);
      ASSERT_EQ(each->sequence, each->collective);
      ASSERT_TRUE(each->end == 0 || each->end >= each->begin);
    }
  }
  writer.join();
  EXPECT_GT(found, 0);
}

TEST(CallRecord, holds_what_a_transport_was_asked_through_its_decorators) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto counting = make_counting_transport(threads);
    std::vector<float> values(100);
    counting->all_reduce_sum(values).wait();
    counting->broadcast(values, 1).wait();
    const CallRecord* const calls = counting->calls();
    ASSERT_TRUE(calls);
    ASSERT_EQ(calls->begun(), 2);
    EXPECT_EQ(calls->call(0)->verb, Verb::kAllReduceSum);
    EXPECT_EQ(calls->call(0)->bytes, 400);
    EXPECT_EQ(calls->call(1)->root, 1);
    const std::string json = calls_as_json(RankCalls(*calls, DeviceCalls()), threads.rank(), "a\"b", "why");
    EXPECT_TRUE(says(json, "\"host\": \"a\\\"b\""));
    EXPECT_TRUE(says(json, "\"operation\": \"broadcast\", \"bytes\": 400, \"root\": 1, \"ranks\": 2"));
  });
}

TEST(CallRecord, is_in_step_where_all_must_bring_the_same) {
  const Call sum{.bytes = 8, .verb = Verb::kAllReduceSum}, longer{.bytes = 12, .verb = Verb::kAllReduceSum};
  const Call text{.bytes = 8, .verb = Verb::kAllGather}, longer_text{.bytes = 12, .verb = Verb::kAllGather};
  const Call from_0{.bytes = 8, .root = 0, .verb = Verb::kBroadcast},
      from_1{.bytes = 8, .root = 1, .verb = Verb::kBroadcast};
  EXPECT_TRUE(in_step(sum, sum));
  EXPECT_FALSE(in_step(sum, longer));
  EXPECT_FALSE(in_step(sum, text));
  EXPECT_TRUE(in_step(text, longer_text));
  EXPECT_FALSE(in_step(from_0, from_1));
}

}  // namespace
}  // namespace eave
