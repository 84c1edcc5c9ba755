// easgd-async when exchanges run freely at random timings, and what its replay takes. Ranks are threads.
#include <gtest/gtest.h>

#include "free_runs.h"
#include "test/expectations.h"

namespace eave {
namespace {

TEST(EasgdAsyncFree, ends_and_applies_each_exchange_once_whatever_the_timing) {
  for (int timing = 0; timing < kTimings; ++timing) {
    const int center_ranks = timing % 5 == 0 ? 1 : 0, workers = 2 + timing % 3, ranks = workers + center_ranks;
    const Problem problem{.size = 40, .steps = 6, .uneven = timing % 2 == 0};
    const Given given = {
        {"tau", timing % 4 == 0 ? "2" : "1"}, {"shard-bytes", "64"}, {"center-ranks", std::to_string(center_ranks)}};
    const Ended ended = run_freely("easgd-async", ranks, given, problem, static_cast<std::uint64_t>(timing));
    expect_each_exchange_once(ended.order, workers, timing % 4 == 0 ? 3 : 6);
  }
}

TEST(EasgdAsyncReplay, lets_workers_meet_where_all_shards_had_as_many_exchanges_with_each) {
  const ExchangeLog log = {{}, 2, 2, 8, {1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1}};
  EXPECT_EQ(even_exchanges(log), (std::vector<bool>{true, true, false, false, true}));
}

// eave times the links to choose the length of shards, so the same hosts may seem slow in one run and fast in the next.
TEST(EasgdAsyncReplay, cuts_the_center_as_the_run_did_whatever_the_links_are_now) {
  const Problem problem{.size = 100000, .steps = 4};
  const Given given = {{"tau", "2"}};
  for (const std::size_t then : {8192u, 65536u}) {
    const Ended free = run_freely("easgd-async", 3, given, problem, 1, then);
    const OrderFile file(free.order);
    EXPECT_EQ(read_exchange_log(file.path()).shards, then == 8192 ? 15 : 3);
    const Ended replayed =
        run_freely("easgd-async", 3, with(given, {{"replay", file.path()}}), problem, 2, then == 8192 ? 65536 : 8192);
    EXPECT_EQ(replayed.center, free.center);
    EXPECT_EQ(replayed.order, free.order);
  }
  const Ended cut = run_freely("easgd-async", 3, with(given, {{"shard-bytes", "128KiB"}}), problem, 1, 8192);
  EXPECT_EQ(read_exchange_log(OrderFile(cut.order).path()).shards, 6) << "--shard-bytes is kept to where it is given";
}

TEST(EasgdAsyncReplay, refuses_what_is_not_the_order_of_this_run) {
  const Problem problem{.steps = 12};
  const Given given = {{"tau", "2"}, {"shard-bytes", "64"}};
  const std::string order = run_freely("easgd-async", 2, given, problem, 1).order;
  const auto refused = [&](const std::string& content, const Given& more, const Problem& of) {
    const OrderFile file(content);
    return told("easgd-async", 2, with(more, {{"replay", file.path()}}), of).refusal;
  };
  const auto expect = [](const std::string& message, const std::string& part) { EXPECT_TRUE(says(message, part)); };
  expect(refused(order, {{"tau", "3"}, {"shard-bytes", "64"}}, problem), "--tau 2");
  expect(refused(order, given, {.steps = 20}), "12 exchanges, and this one has 20");
  expect(refused(order.substr(0, order.size() - 3), given, problem), "truncated");
  expect(refused("", given, problem), "not an order of exchanges");
  expect(refused("PK\3\4", given, problem), "not an order of exchanges");
  std::string damaged = order;
  damaged[damaged.find("\"exchanges\"") + 1] = 'X';
  expect(refused(damaged, given, problem), "header is damaged");
  ExchangeLog swapped = read_exchange_log(OrderFile(order).path());
  std::ranges::reverse(swapped.order);
  std::string reordered = encode(swapped);
  const auto checksum_of = [](const std::string& text) {
    const std::size_t at = text.find("\"checksum\":") + 11;
    return text.substr(at, text.find(',', at) - at);
  };
  const std::string wrong = checksum_of(reordered);
  reordered.replace(reordered.find(wrong), wrong.size(), checksum_of(order));
  if (wrong != checksum_of(order)) expect(refused(reordered, given, problem), "checksum");
  expect(told("easgd-async", 2, {{"replay", "/nowhere/exchanges.order"}}, problem).refusal, "/nowhere/exchanges.order");
  expect(refused(order, {{"tau", "2"}, {"shard-bytes", "64"}, {"async-order", "free"}}, problem), "no effect");
}

}  // namespace
}  // namespace eave
