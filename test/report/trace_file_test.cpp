// Tests trace.json, and the overlap of communication with computing, on crafted spans.
#include "report/record/trace_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "test/temporary_directory.h"

namespace eave {
namespace {

using TraceJson = nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;

TraceSpan span_of(SpanKind kind, std::int64_t begin, std::int64_t end, std::int64_t number = 1) {
  return {begin * kSecond, end * kSecond, number, kind};
}

// Rank 0 computes from 0 to 10 s and waits until 14 s. Its sum runs from 6 to 13 s: 4 s behind computing, and 3 s while
// the rank waits. Rank 1 computes from 0 to 8 s, and its sum from 2 to 4 s is hidden. Neither rank 1's gather nor its
// broadcast in the evaluation counts.
std::vector<RankTrace> two_ranks() {
  std::vector<RankTrace> ranks(2);
  ranks[0].host = "node \"0\"";
  ranks[0].computing = {span_of(SpanKind::kGradients, 0, 9), span_of(SpanKind::kUpdate, 9, 10),
                        span_of(SpanKind::kWaiting, 10, 14), span_of(SpanKind::kEvaluation, 20, 25)};
  ranks[0].communication = {span_of(SpanKind::kSum, 6, 13, 400)};
  ranks[1].host = "node1";
  ranks[1].clock_error = 1500;
  ranks[1].computing = {span_of(SpanKind::kGradients, 0, 8), span_of(SpanKind::kEvaluation, 20, 25)};
  ranks[1].communication = {span_of(SpanKind::kSum, 2, 4, 400), span_of(SpanKind::kGather, 4, 5, 8),
                            span_of(SpanKind::kBroadcast, 21, 23, 8)};
  return ranks;
}

TEST(Overlap, is_the_share_of_communication_during_which_the_rank_computed) {
  const Overlap overlap = overlap_of(two_ranks());
  EXPECT_DOUBLE_EQ(overlap.behind_computing, 4 + 2);
  EXPECT_DOUBLE_EQ(overlap.in_training, 4 + 3 + 2);
  EXPECT_DOUBLE_EQ(overlap.share().value(), 6.0 / 9.0);
  EXPECT_FALSE(overlap_of({RankTrace{}}).share().has_value());
}

TEST(Operations, begin_where_the_one_before_has_ended) {
  std::vector<TraceSpan> operations = {span_of(SpanKind::kSum, 1, 5), span_of(SpanKind::kGather, 2, 9),
                                       span_of(SpanKind::kSum, 3, 7)};
  part_operations(operations);
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[1].begin, 5 * kSecond);
  EXPECT_EQ(operations[1].end, 7 * kSecond);
  EXPECT_EQ(operations[2].begin, 7 * kSecond);
  EXPECT_EQ(operations[2].end, 9 * kSecond);
}

TraceJson written(const std::vector<RankTrace>& ranks, const TraceGap& gap) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "trace.json";
  write_trace(path, ranks, gap);
  std::ifstream file(path);
  return TraceJson::parse(file);
}

TEST(TraceFile, holds_each_span_by_rank_and_track_in_microseconds_from_the_first) {
  std::vector<RankTrace> ranks = two_ranks();
  for (RankTrace& rank : ranks) {
    for (auto* spans : {&rank.computing, &rank.communication}) {
      for (TraceSpan& span : *spans) span.begin += 7 * kSecond + 1, span.end += 7 * kSecond + 1;
    }
  }
  const TraceJson trace = written(ranks, {});
  std::map<std::string, int> names;
  std::vector<TraceJson> sums;
  for (const TraceJson& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") {
      if (event.at("name") == "process_name") ++names[event.at("args").at("name").get<std::string>()];
      continue;
    }
    EXPECT_EQ(event.at("ph"), "X");
    if (event.at("name") == "sum") sums.push_back(event);
  }
  EXPECT_EQ(names, (std::map<std::string, int>{{"rank 0 (node \"0\")", 1}, {"rank 1 (node1)", 1}}));
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].at("pid"), 0);
  EXPECT_EQ(sums[0].at("tid"), 2);
  EXPECT_EQ(sums[0].at("ts").get<double>(), 6e6);
  EXPECT_EQ(sums[0].at("dur").get<double>(), 7e6);
  EXPECT_EQ(sums[0].at("args").at("bytes"), 400);
  EXPECT_EQ(sums[1].at("pid"), 1);
  EXPECT_EQ(trace.at("metadata").at("ranks")[1].at("clock_error_us"), 1.5);
  EXPECT_TRUE(trace.at("metadata").at("left_out").is_null());
  EXPECT_DOUBLE_EQ(trace.at("metadata").at("overlap").at("share").get<double>(), 6.0 / 9.0);
}

TEST(TraceFile, says_what_was_left_out) {
  const TraceJson left_out = written(two_ranks(), {15 * kSecond, 18 * kSecond, 77}).at("metadata").at("left_out");
  EXPECT_EQ(left_out.at("events"), 77);
  EXPECT_EQ(left_out.at("from_us").get<double>(), 15e6);
  EXPECT_EQ(left_out.at("to_us").get<double>(), 18e6);
}

}  // namespace
}  // namespace eave
