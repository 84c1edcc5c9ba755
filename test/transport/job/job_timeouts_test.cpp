// EndTimeout: ends a process whose last MPI calls do not return.
#include "transport/job/job_timeouts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace eave {
namespace {

using namespace std::chrono_literals;

// Hangs for ever in a last call, under a limit of 50 ms.
[[noreturn]] void stand_still(int rank, int code) {
  EndTimeout limit(rank, code, 50ms);
  limit.enter("MPI_Finalize");
  while (true) std::this_thread::sleep_for(1s);
}

class EndTimeouts : public testing::Test {
 protected:
  EndTimeouts() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EndTimeouts, name_the_call_that_does_not_come_back_and_end_the_process) {
  EXPECT_EXIT(stand_still(0, 0), testing::ExitedWithCode(69), "rank 0.*files are written, but MPI_Finalize has not");
}

TEST_F(EndTimeouts, keep_the_code_of_a_job_that_has_failed) {
  EXPECT_EXIT(stand_still(1, 76), testing::ExitedWithCode(76), "rank 1.*MPI_Finalize");
}

TEST_F(EndTimeouts, say_nothing_of_what_comes_back) {
  testing::internal::CaptureStderr();
  const auto start = std::chrono::steady_clock::now();
  {
    EndTimeout limit(0, 0, 1h);
    limit.enter("MPI_Finalize");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1min);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace eave
