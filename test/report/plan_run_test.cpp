// Tests which numbers `eave plan` takes from a run.
#include "report/plan/plan_run.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "report/record/metrics_writer.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

struct Steps {
  std::string communicator = "allreduce";
  int count = 40, of_line = 1, lost = 0;  // `lost` lines in the middle of the file could not be written
  double exchanging = 0.004, waiting = 0.003, late = 0.010;
  std::int64_t bytes = 8000;
  int tau = 1, agreeing = 1;  // steps from one sum to the next, and from one message of 16 bytes to the next
  std::string compression{}, top_k_share{};  // "": not compressed
  std::string bucket_bytes{};                // "": the default
  bool counts_own = false;                   // lines have the samples of their rank since the evaluation at the end
};

std::optional<ExchangePattern> pattern_of(const std::string& communicator) {
  if (communicator == "allreduce") return ExchangePattern::kGradientSums;
  if (communicator == "local-sgd") return ExchangePattern::kBlockingSums;
  if (communicator == "easgd") return ExchangePattern::kHiddenSums;
  if (communicator == "easgd-async") return ExchangePattern::kRequests;
  return std::nullopt;
}

// Writes a run of two ranks. Rank 1 computes for 20 ms. Rank 0 computes for 10 ms and waits 10 ms more. The first two
// steps take a second.
void make(const MadeRuns& place, const Steps& steps) {
  std::filesystem::create_directories(place.path() / "run");
  MetricsWriter writer(place.path() / "run" / "metrics.jsonl");
  RunHeader header;
  header.config = {{"communicator", steps.communicator}, {"tau", "5"}};
  if (!steps.bucket_bytes.empty()) header.config["bucket-bytes"] = steps.bucket_bytes;
  if (!steps.compression.empty()) header.config["compression"] = steps.compression;
  if (!steps.top_k_share.empty()) header.config["top-k-share"] = steps.top_k_share;
  header.communicator = steps.communicator;
  header.parameters = 2000;
  header.ranks.resize(2);
  for (RankFacts& rank : header.ranks) rank.host = "one";
  writer.write_header(header);
  for (int rank : {0, 1}) {
    std::vector<StepRecord> records;
    double seconds = 0;
    for (int line = 1; line <= steps.count; ++line) {
      if (line > 10 && line <= 10 + steps.lost) continue;
      const double late = rank == 0 ? steps.late : 0;
      StepRecord record;
      record.step = std::int64_t{line} * steps.of_line;
      record.samples = record.step * (steps.counts_own ? 32 : 64);
      record.computing = steps.of_line * (line <= 2 ? 1 : 0.019 - late);
      record.loading = steps.of_line * 0.001;
      record.exchanging = steps.of_line * (steps.exchanging + late);
      record.waiting = steps.of_line * (steps.waiting + late);
      seconds += record.computing + record.loading + record.waiting;
      record.seconds = seconds;
      const std::int64_t small = steps.agreeing > 1 && line % steps.agreeing == 0 ? 16 : 0;
      record.bytes = steps.of_line * (line % steps.tau == 0 ? steps.bytes : 0) + small;
      records.push_back(record);
    }
    writer.write_steps(rank, records);
  }
  if (steps.counts_own) {
    EvaluationRecord evaluation;
    evaluation.step = std::int64_t{steps.count} * steps.of_line + 1;
    evaluation.samples = evaluation.step * 64;
    evaluation.seconds = 1000;
    writer.write_evaluation(evaluation);
  }
  ASSERT_EQ(writer.flush(), "");
}

PlanRun read(const Steps& steps) {
  const MadeRuns place;
  make(place, steps);
  return read_plan_run(place.path() / "run", pattern_of);
}

void expect_refused(const std::filesystem::path& directory, ExitCode code, const std::string& says) {
  expect_error(code, says, [&] { read_plan_run(directory, pattern_of); });
}

TEST(PlanRun, is_not_taken_for_one_of_means_where_lines_are_lost) {
  EXPECT_EQ(read({.lost = 9}).steps_per_record, 1);
  EXPECT_EQ(read({.of_line = 4, .lost = 9}).steps_per_record, 4);
}

TEST(PlanRun, has_computing_and_loading_of_each_rank_without_the_beginning) {
  const PlanRun run = read({});
  ASSERT_EQ(run.basis.step_seconds.size(), 2u);
  ASSERT_EQ(run.basis.step_seconds[0].size(), 36u);
  for (const double seconds : run.basis.step_seconds[0]) EXPECT_NEAR(seconds, 0.010, 1e-12);
  for (const double seconds : run.basis.step_seconds[1]) EXPECT_NEAR(seconds, 0.020, 1e-12);
  EXPECT_DOUBLE_EQ(run.basis.samples_per_step, 32);
  EXPECT_EQ(run.steps, 72);
  EXPECT_EQ(run.hosts, 1);
}

// Ranks that take steps independently count only their own samples until an evaluation.
TEST(PlanRun, takes_the_samples_of_all_ranks_from_an_evaluation) {
  EXPECT_DOUBLE_EQ(read({.communicator = "easgd-async", .counts_own = true}).basis.samples_per_step, 32);
}

TEST(PlanRun, has_the_bytes_that_were_sent_and_the_rate_of_the_rank_that_came_last) {
  const PlanRun run = read({.bytes = 4000});  // the sum sends half as many bytes as the parameters have
  EXPECT_TRUE(run.is_sum_measured);
  EXPECT_DOUBLE_EQ(run.basis.sum_bytes, 4000);
  EXPECT_DOUBLE_EQ(run.basis.parameter_bytes, 8000);
  EXPECT_NEAR(run.exchange_bytes_per_second.value(), 4000 / 0.004, 1e-3);
}

TEST(PlanRun, takes_no_messages_between_sums_for_sums) {
  for (const std::string communicator : {"easgd", "local-sgd"}) {
    const PlanRun run = read({.communicator = communicator, .count = 90, .tau = 30, .agreeing = 9});
    EXPECT_TRUE(run.is_sum_measured) << communicator;
    EXPECT_DOUBLE_EQ(run.basis.sum_bytes, 8000) << communicator;
    const PlanRun none = read({.communicator = communicator, .count = 90, .tau = 100, .agreeing = 9});
    EXPECT_FALSE(none.is_sum_measured) << communicator;
    EXPECT_DOUBLE_EQ(none.basis.sum_bytes, 8000) << communicator;
  }
}

TEST(PlanRun, knows_how_small_top_k_makes_a_sum) {
  const Steps steps{
      .communicator = "easgd", .count = 90, .bytes = 120, .tau = 30, .agreeing = 9, .top_k_share = "0.01"};
  EXPECT_DOUBLE_EQ(read(steps).basis.sum_bytes, 120);
}

TEST(PlanRun, knows_whether_the_measured_sum_was_compressed) {
  EXPECT_TRUE(read({.bytes = 2000, .compression = "int8"}).basis.is_sum_compressed);
  EXPECT_FALSE(read({.compression = "none"}).basis.is_sum_compressed);
  EXPECT_FALSE(read({.communicator = "gossip", .compression = "int8"}).basis.is_sum_compressed);
}

TEST(PlanRun, has_the_size_of_the_buckets_of_gradients) {
  EXPECT_DOUBLE_EQ(read({.bucket_bytes = "64KiB"}).basis.bucket_bytes, 65536);
  EXPECT_DOUBLE_EQ(read({}).basis.bucket_bytes, 0);
}

TEST(PlanRun, divides_lines_of_several_steps) {
  const PlanRun run = read({.of_line = 5});
  EXPECT_EQ(run.steps_per_record, 5);
  EXPECT_NEAR(run.basis.step_seconds[1][0], 0.020, 1e-12);
  EXPECT_DOUBLE_EQ(run.basis.sum_bytes, 8000);
  EXPECT_FALSE(read({.communicator = "local-sgd", .of_line = 5, .bytes = 4000}).is_sum_measured);
}

TEST(PlanRun, has_behind_how_much_of_a_step_gradients_travelled) {
  const PlanRun exposed = read({});
  EXPECT_TRUE(exposed.is_hidden_measured);
  EXPECT_NEAR(exposed.basis.hidden_share, 0.001 / 0.015, 1e-3);
  const PlanRun hidden = read({.exchanging = 0.012, .waiting = 0.0005});
  EXPECT_NEAR(hidden.basis.hidden_share, 0.0115 / 0.015, 1e-3);
  // The exchange was too short to fill the time behind computing.
  const PlanRun short_exchange = read({.waiting = 0.0005, .late = 0});
  EXPECT_FALSE(short_exchange.is_hidden_measured);
  EXPECT_DOUBLE_EQ(short_exchange.basis.hidden_share, 0.5);
  EXPECT_FALSE(read({.communicator = "easgd"}).is_hidden_measured);
}

TEST(PlanRun, of_pairs_and_centers_takes_the_parameters) {
  for (const std::string communicator : {"gossip", "easgd-async", "easgd-tree", "none"}) {
    const PlanRun run = read({.communicator = communicator, .bytes = 4000});
    EXPECT_FALSE(run.is_sum_measured) << communicator;
    EXPECT_DOUBLE_EQ(run.basis.sum_bytes, 8000);
    EXPECT_FALSE(run.exchange_bytes_per_second.has_value());
  }
}

TEST(PlanRun, refuses_what_it_cannot_plan_with) {
  const MadeRuns place;
  expect_refused(place.path() / "none", ExitCode::kInputMissing, "none");
  make(place, {.count = 9});
  expect_refused(place.path() / "run", ExitCode::kBadData, "too few steps");
  place.write("run/metrics.jsonl", "{\"type\":\"step\"}\n");
  expect_refused(place.path() / "run", ExitCode::kBadData, "it is no header");
  place.write("run/metrics.jsonl", "");
  expect_refused(place.path() / "run", ExitCode::kBadData, "run: metrics.jsonl is empty");
}

}  // namespace
}  // namespace eave
