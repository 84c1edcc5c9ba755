// The exit code of mpirun and the messages on the terminal when a rank fails.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "test/expectations.h"

namespace {

using eave::says;

struct Ended {
  int code = -1;
  bool killed_by_hydra = false;
  int aborted_with = -1;  // the code that MPICH says MPI_Abort was called with
  std::string messages;   // the lines of eave, without those of mpirun
};

Ended run(const std::string& command) {
  Ended ended;
  FILE* output = popen(("env " + command + " 2>&1").c_str(), "r");
  std::array<char, 4096> line;
  while (std::fgets(line.data(), line.size(), output)) {
    const std::string text = line.data();
    if (text.starts_with("eave: ")) ended.messages += text;
    if (text.find("BAD TERMINATION") != std::string::npos) ended.killed_by_hydra = true;
    const std::size_t call = text.find("application called MPI_Abort(comm=");
    if (call != std::string::npos) ended.aborted_with = std::stoi(text.substr(text.find(", ", call) + 2));
  }
  const int status = pclose(output);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

// Runs mpi_job with `ending` on `ranks` ranks under mpirun. After 30 s it is ended, and the code is 124.
Ended job(const std::string& ending, int ranks) {
  return run(EAVE_MPI_ENVIRONMENT " timeout -k 5 30 " EAVE_MPIRUN " " + std::to_string(ranks) + " '" EAVE_MPI_JOB "' " +
             ending);
}

// When a rank aborts, MPICH's mpiexec (hydra) kills the other ranks. It returns their 9 instead of the code of the
// failed rank if a killed rank ends first, and 1 if it has not learnt any code. Then the code is in the line of
// MPI_Abort.
void expect_code_of_failed_rank(const Ended& ended, int code) {
  const bool code_is_lost = ended.killed_by_hydra && (ended.code == 9 || ended.code == 1);
  EXPECT_EQ(code_is_lost ? ended.aborted_with : ended.code, code) << ended.messages;
}

long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(MpiJob, that_goes_well_ends_with_0_and_says_nothing) {
  for (int ranks : {1, 2, 4}) {
    const Ended ended = job("well", ranks);
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.messages, "");
  }
}

TEST(MpiJob, whose_ranks_fail_alike_prints_one_message) {
  for (int ranks : {1, 2, 4}) {
    const Ended ended = job("agreed", ranks);
    EXPECT_EQ(ended.code, 64);
    EXPECT_EQ(ended.messages, "eave: --batch 0: must be at least 1\n");
  }
}

TEST(MpiJob, has_the_name_that_it_was_chosen_by) {
  for (const std::string name : {"mpi", "mpi-flat", "mpi-staged", "nccl"}) {
    EXPECT_EQ(job("says-its-name " + name, 2).messages, "eave: it is " + name + "\n");
  }
}

TEST(MpiJob, on_cpus_goes_well_by_mpi_and_is_refused_once_by_nccl) {
  EXPECT_EQ(job("computes-on-cpu", 3).code, 0);
  for (int ranks : {1, 3}) {
    const Ended ended = job("computes-on-cpu nccl", ranks);
    EXPECT_EQ(ended.code, 64);
    EXPECT_EQ(ended.messages,
              "eave: --transport nccl sums on GPUs, but every rank computes on cpu; use --transport mpi\n");
  }
}

TEST(MpiJob, by_nccl_ends_as_by_mpi) {
  EXPECT_EQ(job("well nccl", 3).code, 0);
  const Ended ended = job("fails-with-requests-in-flight nccl", 3);
  expect_code_of_failed_rank(ended, 76);
  EXPECT_EQ(lines(ended.messages), 1) << ended.messages;
}

TEST(MpiJob, names_the_rank_and_host_that_failed_in_set_up) {
  const Ended ended = job("agreed-last", 3);
  EXPECT_EQ(ended.code, 66);
  EXPECT_EQ(ended.messages.rfind("eave: rank 2 on ", 0), 0u) << ended.messages;
  EXPECT_EQ(lines(ended.messages), 1) << ended.messages;
}

TEST(MpiJob, ends_on_all_ranks_when_one_fails) {
  for (int ranks : {2, 4}) {
    const Ended ended = job("one-rank-fails", ranks);
    expect_code_of_failed_rank(ended, 65);
    EXPECT_EQ(ended.messages.rfind("eave: rank 1 on ", 0), 0u) << ended.messages;
    EXPECT_TRUE(says(ended.messages, ": bad magic\n"));
    EXPECT_EQ(lines(ended.messages), 1) << ended.messages;
  }
}

struct Failing {
  std::string name;  // of the test: what happens
  const char* ending;
  int ranks, code;
  const char* says;
};

class FailingMpiJob : public testing::TestWithParam<Failing> {};

TEST_P(FailingMpiJob, ends_with_the_code_of_the_rank_that_failed) {
  const Ended ended = job(GetParam().ending, GetParam().ranks);
  expect_code_of_failed_rank(ended, GetParam().code);
  EXPECT_TRUE(says(ended.messages, GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Where, FailingMpiJob,
    testing::ValuesIn(std::vector<Failing>{
        {"a_rank_fails_with_an_exchange_in_flight", "fails-in-flight", 2, 76, ""},
        {"a_rank_fails_while_others_compute", "fails-while-others-compute", 3, 70, "oops"},
        {"a_rank_aborts_while_its_communication_thread_is_inside_mpi", "aborts-while-waiting", 3, 76, ""},
        {"requests_of_others_are_in_flight", "fails-with-requests-in-flight", 3, 76, "loss is not finite"},
        {"its_own_requests_are_in_flight", "fails-with-requests-of-its-own-in-flight", 3, 76, "loss is not finite"},
        {"a_service_throws", "service-throws", 3, 65, "bad values"},
        {"a_rank_without_a_service_is_asked", "asks-nobody", 2, 70, "answers no requests"},
        {"memory_is_short", "out-of-memory", 2, 71, ""},
        // That the ranks called different operations is reported by the watchdog, which test/faults (F19) tests.
        {"more_comes_than_a_slice_holds_and_nothing_is_written_behind_it", "out-of-step", 2, 70,
         "what lies behind is whole"}}),
    [](const auto& each) { return each.param.name; });

// One of two ranks starts 3 seconds after the other, which waits for it in MPI_Init.
TEST(MpiJob, one_of_whose_ranks_is_late_says_which_rank_waits_for_it_and_goes_on) {
  const std::string well = "'" EAVE_MPI_JOB "' well mpi 400", later = "sh -c \"sleep 3; exec " + well + "\"";
  const std::string mpirun = EAVE_MPIRUN, flag = mpirun.substr(mpirun.find_last_of(' ') + 1);
  for (const int waiting : {0, 1}) {
    const Ended ended = run(EAVE_MPI_ENVIRONMENT " timeout -k 5 30 " EAVE_MPIRUN " 1 " + (waiting == 0 ? well : later) +
                            " : " + flag + " 1 " + (waiting == 0 ? later : well));
    EXPECT_EQ(ended.code, 0) << ended.messages;
    EXPECT_EQ(lines(ended.messages), 1) << ended.messages;
    EXPECT_TRUE(says(ended.messages, "warning: rank " + std::to_string(waiting) + " (host "));
    EXPECT_TRUE(says(ended.messages, "has waited in MPI_Init for 0.4 s, for 1 other rank"));
    EXPECT_TRUE(says(ended.messages, "ps -C eave"));
  }
}

// Starts one process for each environment, as a launcher of another MPI does: MPI takes each process for a job of its
// own. Expects that all of them end with 69, and that only one prints a message, which contains `words`.
void expect_one_to_speak(const std::vector<std::string>& environments, const std::string& words) {
  std::string commands;
  for (const std::string& environment : environments)
    commands += "(env " + environment + " timeout 30 \"" EAVE_MPI_JOB "\" well; echo \"eave: ended with $?\") & ";
  const Ended ended = run("sh -c '" + commands + "wait'");
  EXPECT_EQ(lines(ended.messages), static_cast<long>(environments.size()) + 1) << ended.messages;
  EXPECT_TRUE(says(ended.messages, words));
  for (std::size_t at = 0, i = 0; i < environments.size(); ++i, ++at) {
    at = ended.messages.find("ended with 69", at);
    EXPECT_NE(at, std::string::npos) << ended.messages;
  }
}

TEST(MpiJob, started_by_the_launcher_of_another_mpi_says_so_once) {
  expect_one_to_speak(
      {"PMI_JOBID=1 PMI_SIZE=4 PMI_RANK=0", "PMI_JOBID=1 PMI_SIZE=4 PMI_RANK=1", "PMI_JOBID=1 PMI_SIZE=4 PMI_RANK=2"},
      "started 4 ranks");
}

// The ranks that MPI does not find may all be on one host, here ranks 2 and 3 of 4. One of them must speak.
TEST(MpiJob, started_by_the_launcher_of_another_mpi_on_one_host_says_so_once_there) {
  expect_one_to_speak(
      {"PMI_JOBID=2 PMI_SIZE=4 PMI_RANK=2 MPI_LOCALRANKID=0", "PMI_JOBID=2 PMI_SIZE=4 PMI_RANK=3 MPI_LOCALRANKID=1"},
      "started 4 ranks");
}

// If Open MPI cannot reach the server that PMIx's variables name, it reports nothing and starts as a job of one rank.
TEST(MpiJob, that_finds_fewer_ranks_than_any_launcher_started_ends_with_69) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"PMIX_RANK=1", "a launcher that speaks PMIx started at least 2 ranks"},
      {"PMI_RANK=1", "a launcher that speaks PMI started at least 2 ranks"},
      {"PMIX_RANK=0 PMIX_NAMESPACE=slurm.pmix.7.0 SLURM_STEP_NUM_TASKS=2", "started 2 ranks (SLURM_STEP_NUM_TASKS)"},
      {"MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=0", "MVAPICH2"},
      {"RANK=1 WORLD_SIZE=2", "torchrun started 2 ranks"}};
  for (const auto& [environment, words] : cases) expect_one_to_speak({environment}, words);
}

}  // namespace
