// Tests eave under launchers: commands that only read never start MPI, and eave refuses ranks that do not find each
// other.
#include <gtest/gtest.h>

#include <future>

#include "test/program/expectations.h"

namespace eave {
namespace {

// Commands that only read, each with a part of its output.
const std::vector<std::pair<std::string, std::string>> kReading = {{"summary run", "test accuracy"},
                                                                   {"report run --html none", "allreduce"},
                                                                   {"plan run --ranks 2", "ranks"},
                                                                   {"watch run", "test accuracy"},
                                                                   {"watch run --once", "allreduce"},
                                                                   {"checkpoint ls run", "step"},
                                                                   {"checkpoint verify run", "whole"},
                                                                   {"checkpoint export run --npy exported-state", ""},
                                                                   {"export run --npy exported", ""},
                                                                   {"help", "usage: eave"},
                                                                   {"help --format bash", "complete"},
                                                                   {"--help", "usage: eave"},
                                                                   {"--version", "eave "},
                                                                   {"train --help", "--batch"},
                                                                   {"compare --help", "--output"},
                                                                   {"train --print-config", "batch"}};

class Reading : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(place.eave(quick("--run-dir run --log-every 1")).code, 0); }
  const Place place;
};

// If the command called MPI_Init, it would wait for ever, because nobody answers at the address in the environment.
TEST_F(Reading, starts_no_mpi_and_is_done_by_rank_0_alone) {
  for (const auto& [words, prints] : kReading) {
    const std::string mpi = "PMIX_NAMESPACE=of-nobody OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=";
    expect_output(0, place.eave(words, {0, mpi + "0"}), {prints});
    const Ended second = expect_end(0, place.eave(words, {0, mpi + "1"}));
    EXPECT_EQ(second.output + second.errors, "") << words;
  }
}

TEST_F(Reading, inside_a_job_is_possible_on_one_rank_alone) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const std::string rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}";
  const Ended alone = expect_end(0, place.run("timeout -k 5 30 " + mpirun(2) + " sh -c 'if [ \"" + rank +
                                              "\" = 0 ]; then \"$0\" summary run; fi' " + program()));
  EXPECT_EQ(count_of(alone.output, "test accuracy"), 1u) << alone.output;
  const Ended both = expect_end(0, place.eave("summary run", {2}));
  EXPECT_EQ(count_of(both.output, "test accuracy"), 1u) << both.output;
}

TEST_F(Reading, that_fails_is_told_once_with_the_code_of_rank_0) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  for (const auto& [words, code] : std::vector<std::pair<std::string, int>>{
           {"summary", 64}, {"summary nowhere", 66}, {"summry run", 64}, {"help --format what", 64}}) {
    expect_end(code, place.eave(words, {3}));
  }
}

// A script may start eave with a wrong option on one rank only. Without a limit that rank would wait for ever.
TEST(Usage, that_is_wrong_on_the_only_rank_that_comes_is_told_after_a_while) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  const std::string rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}";
  expect_end(64,
             place.run("timeout -k 5 40 " + mpirun(2) + " sh -c 'if [ \"" + rank +
                       "\" = 0 ]; then \"$0\" train --bacth 3; else sleep 30; fi' " + program()),
             {"did you mean --batch?"});
}

// MPI_Init waits for all ranks, so the ranks that come wait for the one that does not.
TEST(Usage, that_is_wrong_on_ranks_that_cannot_meet_is_told_by_one_of_them) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  const std::string rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}";
  const Ended ended =
      expect_end(64, place.run("timeout -k 5 40 " + mpirun(4) + " sh -c 'if [ \"" + rank +
                               "\" = 0 ]; then sleep 30; else \"$0\" train --bacth 3; fi' " + program()));
  EXPECT_EQ(count_of(ended.errors, "did you mean --batch?"), 1u) << ended.errors;
}

struct Told {
  std::vector<int> codes;
  std::string all;
};

// Starts one process for each environment, all at once.
Told ranks_at_once(const Place& place, const std::string& words, const std::vector<std::string>& environments) {
  std::vector<std::future<Ended>> ranks;
  for (const std::string& environment : environments)
    ranks.push_back(std::async(std::launch::async, [&, environment] { return place.eave(words, {0, environment}); }));
  Told told;
  for (auto& rank : ranks) {
    const Ended ended = rank.get();
    told.codes.push_back(ended.code);
    told.all += ended.errors;
  }
  return told;
}

TEST(Launcher, whose_ranks_do_not_find_each_other_is_refused_once_with_69_before_anything_is_written) {
  const Place place;
  const std::string job = "MASTER_PORT=29511 WORLD_SIZE=3 RANK=";
  const std::vector<std::string> commands = {quick("--run-dir run"), "compare --output out", "bench-comm", "doctor"};
  for (const std::string& words : commands) {
    const Told told = ranks_at_once(place, words, {job + "0", job + "1", job + "2"});
    EXPECT_EQ(told.codes, (std::vector<int>{69, 69, 69})) << words << told.all;
    EXPECT_EQ(count_of(told.all, "torchrun started 3 ranks (WORLD_SIZE)"), 1u) << told.all;
    expect_parts(told.all, {"Give --transport tcp --meet HOST:PORT, or start eave with mpirun"});
  }
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run") || std::filesystem::exists(place.path() / "out"));
}

TEST(Launcher, of_another_kind_or_of_one_rank_by_hand_is_named_too) {
  const Place place;
  const Told told = ranks_at_once(place, quick(""),
                                  {"RANK=1 WORLD_SIZE=2", "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1",
                                   "FLUX_JOB_SIZE=2 FLUX_TASK_RANK=0", "HOROVOD_SIZE=2 HOROVOD_RANK=1"});
  EXPECT_EQ(told.codes, (std::vector<int>{69, 69, 69, 69})) << told.all;
  for (const std::string name : {"torchrun", "Slurm's srun", "flux run", "horovodrun"})
    EXPECT_EQ(count_of(told.all, name + " started 2 ranks"), 1u) << told.all;
}

TEST(Launcher, whose_number_of_ranks_is_no_number_is_refused_once) {
  const Place place;
  const std::string job = "MASTER_PORT=29512 WORLD_SIZE=2x RANK=";
  const Told told = ranks_at_once(place, quick("--run-dir run"), {job + "0", job + "1"});
  EXPECT_EQ(told.codes, (std::vector<int>{69, 69})) << told.all;
  EXPECT_EQ(count_of(told.all, "WORLD_SIZE is '2x', which is no number"), 1u) << told.all;
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run"));
}

TEST(Launcher, of_others_around_it_keeps_no_run_from_its_ranks) {
  const Place place;
  expect_end(0, place.eave(quick(""), {0, "WORLD_SIZE=8"}));
  expect_end(0, place.eave(quick(""), {0, "RANK=0 WORLD_SIZE=1"}));
  expect_end(0, place.eave(quick("--transport loopback"), {0, "RANK=1 WORLD_SIZE=8"}));
  expect_output(0, place.eave(quick("--transport threads --ranks 2"), {0, "RANK=1 WORLD_SIZE=8"}),
                {"allreduce      2"});
  if (!has_mpirun()) return;
  for (const std::string environment : {"RANK=3 WORLD_SIZE=8", "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1",
                                        "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4"}) {
    expect_output(0, place.eave(quick(""), {2, environment}), {"allreduce      2"});
  }
}

}  // namespace
}  // namespace eave
