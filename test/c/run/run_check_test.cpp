// Tests eave_run_check, by which programs ask whether eave's commands read a run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "c/run/run_recorder.h"
#include "eave.h"
#include "test/c/run/recorded_rank.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Records one step of a run on one rank, and then calls `end`.
void record(const TemporaryDirectory& place, const std::function<void(RecordedRank&)>& end) {
  record_job(path_in(place), {}, [&](RecordedRank& rank) {
    rank.step();
    rank.evaluate();
    end(rank);
    rank.averager().finish();
  });
}

TEST(RunCheck, accepts_runs_that_go_on_have_finished_or_have_failed) {
  const TemporaryDirectory going, finished, failed;
  record(going, [&](RecordedRank&) { EXPECT_EQ(eave_run_check(path_in(going).c_str()), 0); });
  record(finished, [](RecordedRank& rank) { rank.close(); });
  record(failed, [](RecordedRank& rank) { rank.run().fail({ExitCode::kDiverged, "a loss is not finite"}); });
  EXPECT_EQ(eave_run_check(path_in(finished).c_str()), 0);
  EXPECT_EQ(eave_run_check(path_in(failed).c_str()), 0);
}

TEST(RunCheck, finds_no_run_in_an_empty_directory) {
  const TemporaryDirectory place;
  EXPECT_EQ(eave_run_check(place.path().c_str()), 66);
  EXPECT_EQ(eave_run_check(path_in(place).c_str()), 66);
}

TEST(RunCheck, refuses_a_damaged_run) {
  const TemporaryDirectory place;
  record(place, [](RecordedRank& rank) { rank.close(); });
  std::ofstream(fs::path(path_in(place)) / "metrics.jsonl", std::ios::app) << "{damaged}\n";
  EXPECT_EQ(eave_run_check(path_in(place).c_str()), 65);
}

}  // namespace
}  // namespace eave
