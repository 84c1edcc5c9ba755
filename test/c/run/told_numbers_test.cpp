// Tests what a run records of the numbers that a program tells: losses, scores and its batch.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "c/run/run_recorder.h"
#include "report/read/run_reader.h"
#include "test/c/run/recorded_rank.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// Readers refuse numbers beyond 1e39, and null stands for a loss that is not known.
TEST(ToldNumbers, records_a_loss_that_no_reader_takes_as_not_known) {
  const TemporaryDirectory place;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=allreduce lr=0.1");
    rank.record(path_in(place), "");
    rank.step();
    rank.run().set_loss(1e300);
    rank.evaluate({{-1e300, 0.5}, ModelScore{1e39, 0.5}, {}, {}});
    rank.end();
  });
  const RunRecord run = read_run(path_in(place));
  EXPECT_EQ(run.end, RunEnd::kFinished);
  ASSERT_EQ(run.evaluations.size(), 1u);
  EXPECT_TRUE(std::isnan(run.evaluations[0].record.center.loss));
  EXPECT_EQ(run.evaluations[0].record.validation->loss, 1e39);
  ASSERT_EQ(run.steps.size(), 1u);
  EXPECT_TRUE(std::isnan(run.steps[0].loss));
}

// The mean of float32 shares may be 1.0000001.
TEST(ToldNumbers, takes_the_rounding_of_an_accuracy_off) {
  const TemporaryDirectory place;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=allreduce lr=0.1");
    rank.record(path_in(place), "");
    rank.step();
    rank.evaluate({{1, 1.00000012}, ModelScore{1, -1e-17}, {}, {}});
    rank.end();
  });
  const RunRecord run = read_run(path_in(place));
  EXPECT_EQ(run.summary->evaluation.center.accuracy, 1);
  EXPECT_EQ(run.evaluations.at(0).record.validation->accuracy, 0);
}

TEST(ToldNumbers, warns_once_if_epochs_are_counted_without_a_batch) {
  for (const std::string batch : {"", "batch=4\n"}) {
    const TemporaryDirectory place;
    testing::internal::CaptureStderr();
    on_ranks({"threads", 2}, [&](Transport& transport) {
      RecordedRank rank(transport, "communicator=allreduce lr=0.1");
      rank.record(path_in(place), batch + "train-samples=10");
      rank.step();
      rank.step();
      rank.evaluate({{1, 1}, {}, {}, {}});
      rank.end();
    });
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string warning = "this run has no batch, so each step counts as one sample of each rank";
    EXPECT_EQ(said.find(warning), said.rfind(warning)) << said;
    EXPECT_EQ(said.find(warning) == std::string::npos, !batch.empty()) << said;
  }
}

}  // namespace
}  // namespace eave
