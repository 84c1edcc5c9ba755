// Tests eave_run_check, by which programs ask whether eave's commands read a run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "c/run/run_recorder.h"
#include "eave.h"
#include "test/c/run/recorded_rank.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Records one step of a run on one rank, and then calls `end` with the recorder.
template <typename End>
void record(const TemporaryDirectory& place, const End& end) {
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=allreduce lr=0.1");
    RunRecorder run(transport, rank.averager(), path_in(place), "");
    rank.step();
    rank.consensus();
    run.evaluate(transport, {{1, 0.5}, {}, {}, {}});
    end(run, transport);
    rank.averager().finish();
  });
}

TEST(RunCheck, accepts_runs_that_go_on_have_finished_or_have_failed) {
  const TemporaryDirectory going, finished, failed;
  record(going, [&](RunRecorder&, Transport&) { EXPECT_EQ(eave_run_check(path_in(going).c_str()), 0); });
  record(finished, [](RunRecorder& run, Transport& transport) { run.close(transport); });
  record(failed, [](RunRecorder& run, Transport&) { run.fail({ExitCode::kDiverged, "a loss is not finite"}); });
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
  record(place, [](RunRecorder& run, Transport& transport) { run.close(transport); });
  std::ofstream(fs::path(path_in(place)) / "metrics.jsonl", std::ios::app) << "{damaged}\n";
  EXPECT_EQ(eave_run_check(path_in(place).c_str()), 65);
}

}  // namespace
}  // namespace eave
