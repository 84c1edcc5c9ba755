// Launchers' environment variables tell eave how many ranks they promise, and which process speaks and acts for all.
#include "transport/job/launchers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "eave/job.h"
#include "test/expectations.h"

namespace eave {
namespace {

using Environment = std::map<std::string, std::string>;

class Launchers : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  // Replaces all launcher variables that were set before.
  void set(const Environment& environment) {
    clear();
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  }
  static std::string told_if_found(int found) {
    const auto promised = promised_ranks();
    return promised && promised->ranks > found ? describe_lost(*promised, found) : "";
  }
  static std::string told_with(const std::string& transport) {
    const auto lost = lost_ranks(transport);
    return lost ? describe_lost(*lost, 1) : "";
  }

 private:
  static void clear() {
    unsetenv("SLURM_STEP_NUM_TASKS");
    for (const Launcher& launcher : launchers()) {
      for (const char* name : {launcher.size, launcher.rank, launcher.local_rank, launcher.host, launcher.job})
        if (name) unsetenv(name);
    }
  }
};

TEST_F(Launchers, and_the_environment_decide_what_auto_means) {
  unsetenv("EAVE_MEET");
  EXPECT_EQ(resolve_transport("auto", true), "mpi");
  EXPECT_EQ(resolve_transport("auto", false), "loopback");
  EXPECT_EQ(resolve_transport("threads", true), "threads");
  setenv("EAVE_MEET", "127.0.0.1:29400", 1);
  EXPECT_EQ(resolve_transport("auto", false), "tcp");
  EXPECT_EQ(resolve_transport("auto", true), "mpi") << "mpirun's ranks have found each other already";
  unsetenv("EAVE_MEET");
}

TEST_F(Launchers, whose_ranks_find_each_other_by_mpi_are_recognised_by_any_of_their_numbers) {
  EXPECT_FALSE(started_by_launcher());
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_SIZE", "PMI_RANK", "MV2_COMM_WORLD_SIZE",
        "MVP_COMM_WORLD_SIZE", "JSM_NAMESPACE_SIZE", "PALS_RANKID", "ALPS_APP_PE"}) {
    set({{name, "1"}});
    EXPECT_TRUE(started_by_launcher()) << name;
  }
  for (const Environment& other :
       {Environment{{"RANK", "1"}, {"WORLD_SIZE", "2"}},
        Environment{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}, Environment{{"PMI_SIZE", "two"}}}) {
    set(other);
    EXPECT_FALSE(started_by_launcher());
  }
}

TEST_F(Launchers, that_started_more_ranks_than_are_found_are_named_with_their_remedy) {
  const std::vector<std::pair<Environment, std::vector<std::string>>> cases = {
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}}, {"torchrun started 2 ranks (WORLD_SIZE)", "with mpirun"}},
      {{{"HOROVOD_RANK", "0"}, {"HOROVOD_SIZE", "3"}}, {"horovodrun started 3 ranks", "with mpirun"}},
      {{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}, {"Slurm's srun started 4 ranks", "srun --mpi=pmix"}},
      {{{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}}, {"flux run started 2 ranks", "flux run -o mpi"}},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}}, {"Open MPI's mpirun started 2 ranks", "MPI finds 1", "the mpirun of the MPI"}},
      {{{"OMPI_COMM_WORLD_RANK", "1"}}, {"Open MPI's mpirun started at least 2 ranks (OMPI_COMM_WORLD_RANK)"}},
      {{{"MV2_COMM_WORLD_SIZE", "2"}}, {"MVAPICH2's mpirun started 2"}},
      {{{"MVP_COMM_WORLD_SIZE", "2"}}, {"MVAPICH's mpirun started 2"}},
      {{{"JSM_NAMESPACE_SIZE", "2"}}, {"jsrun started 2"}},
      {{{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}, {"a launcher that speaks PMI started 2 ranks (PMI_SIZE)"}},
      {{{"PMI_RANK", "3"}}, {"a launcher that speaks PMI started at least 4 ranks (PMI_RANK)"}},
      {{{"PALS_RANKID", "1"}}, {"PALS' mpiexec started at least 2"}},
      {{{"ALPS_APP_PE", "1"}}, {"ALPS' aprun started at least 2"}},
      {{{"PMIX_RANK", "1"}}, {"a launcher that speaks PMIx started at least 2 ranks (PMIX_RANK)"}},
      {{{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}},
       {"a launcher that speaks PMIx started 2 ranks (SLURM_STEP_NUM_TASKS)", "--mpi=pmix"}}};
  for (const auto& [environment, parts] : cases) {
    set(environment);
    const std::string text = told_if_found(1);
    for (const std::string& part : parts) EXPECT_TRUE(says(text, part)) << part;
    EXPECT_EQ(told_if_found(4), "") << "with all of them found";
    EXPECT_EQ(told_with("auto"), started_by_launcher() ? "" : text) << "MPI may still find them";
  }
}

TEST_F(Launchers, whose_numbers_are_none_are_refused_by_the_variable_and_its_value) {
  for (const std::string value : {"two", "2x", "-2", " 2", "99999999999999999999", "1e1", "2.5"}) {
    for (const Launcher& launcher : launchers()) {
      for (const char* const wrong : {launcher.size, launcher.rank}) {
        const char* const other = wrong == launcher.size ? launcher.rank : launcher.size;
        if (!wrong) continue;
        // If an MPI launcher's size is a number, eave does not check other variables, so a wrong rank is not refused.
        if (launcher.is_of_mpi && launcher.size && wrong == launcher.rank) continue;
        Environment environment = {{wrong, value}};
        if (other) environment[other] = "1";
        set(environment);
        const std::string text = told_with("auto");
        EXPECT_TRUE(says(text, std::string(wrong) + " is '" + value + "', which is no number")) << wrong << " " << text;
        EXPECT_TRUE(says(text, launcher.advice));
      }
    }
  }
  set({{"WORLD_SIZE", "2x"}, {"RANK", "1"}});
  EXPECT_EQ(told_with("threads"), "") << "a transport that starts its ranks itself is obeyed";
}

TEST_F(Launchers, of_one_rank_or_of_another_job_around_this_one_promise_no_more) {
  const std::vector<std::pair<Environment, int>> cases = {
      {{{"WORLD_SIZE", "8"}}, 1},                                    // a pod exports WORLD_SIZE without a rank
      {{{"RANK", "7"}}, 1},                                          //
      {{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, 1},                     //
      {{{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"PMI_SIZE", "2"}}, 2},  // mpiexec in such a pod
      {{{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, 1},
      {{{"SLURM_PROCID", "0"}}, 1},                                                                // a batch script
      {{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, 2},  // mpirun's own srun,
      {{{"SLURM_PROCID", "1"},
        {"SLURM_STEP_NUM_TASKS", "3"},
        {"PMI_SIZE", "3"},
        {"PMI_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "2"}},
       2},                                                      // where the cluster's default is pmi2
      {{{"PMI_SIZE", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, 2},  // mpirun in srun --mpi=pmi2 --pty bash
      {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "4"}}, 4},  // mpiexec in a script that mpirun started
      {{{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "alone"}}, 1},   // prun -n 1
      {{{"PALS_RANKID", "1"}, {"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}, 2},
      {{{"FLUX_JOB_SIZE", "4"}}, 1},
      {{{"WORLD_SIZE", "two"}}, 1},
      {{{"WORLD_SIZE", ""}, {"RANK", "0"}}, 1},
      {{{"WORLD_SIZE", "two"}, {"RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, 1}};
  for (const auto& [environment, found] : cases) {
    set(environment);
    EXPECT_EQ(told_if_found(found), "");
    EXPECT_EQ(told_with("auto"), "");
  }
}

// One launcher inside another, for example Open MPI's mpirun inside srun. Only one of the two promises two ranks.
TEST_F(Launchers, one_in_another_are_held_to_the_larger_promise) {
  set({{"PMI_SIZE", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_NE(told_if_found(1), "");
  set({{"PMI_SIZE", "2"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_NE(told_if_found(1), "");
}

TEST_F(Launchers, that_pods_imitate_give_way_to_a_transport_that_was_named) {
  set({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  for (const char* name : {"threads", "loopback"}) EXPECT_EQ(told_with(name), "") << name;
  EXPECT_NE(told_with("mpi"), "");
  set({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_NE(told_with("threads"), "");
}

TEST_F(Launchers, give_the_rank_that_acts_for_all) {
  EXPECT_EQ(rank_by_launcher(), 0);
  const std::vector<std::pair<Environment, int>> cases = {
      {{{"OMPI_COMM_WORLD_RANK", "3"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}, 3},
      {{{"PMI_RANK", "2"}}, 2},
      {{{"PMIX_RANK", "4"}}, 4},
      {{{"MV2_COMM_WORLD_RANK", "1"}}, 1},
      {{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}, 1},
      {{{"SLURM_PROCID", "1"}}, 0},                                    // no step
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}, 1},  // torchrun
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}}, 0},                       // a pod: nobody else is here
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}, 0}};
  for (const auto& [environment, rank] : cases) {
    set(environment);
    EXPECT_EQ(rank_by_launcher(), rank) << environment.begin()->first;
  }
}

// Runs `is_true` in a child process that has the variables `more`, too. Its exit code is 1 if the result was true.
pid_t in_process(const Environment& more, const std::function<bool()>& is_true) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (const auto& [name, value] : more) setenv(name.c_str(), value.c_str(), 1);
  const bool is = is_true();
  usleep(700000);  // stays alive while other processes may still look for it
  _exit(is ? 1 : 0);
}

int count_true(const std::vector<pid_t>& children) {
  int count = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    count += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
  }
  return count;
}

TEST_F(Launchers, let_one_process_of_each_host_speak) {
  const auto speaks = [] { return speaks_for_host(*promised_ranks()); };
  const std::vector<std::vector<Environment>> jobs = {
      {{{"RANK", "0"}, {"WORLD_SIZE", "3"}},
       {{"RANK", "1"}, {"WORLD_SIZE", "3"}},
       {{"RANK", "2"}, {"WORLD_SIZE", "3"}}},
      {{{"RANK", "1"}, {"WORLD_SIZE", "2"}}},  // started by hand, by itself
      {{{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "x"}}, {{"PMIX_RANK", "2"}, {"PMIX_NAMESPACE", "x"}}},
      {{{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}},
       {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}}}};
  std::vector<std::vector<pid_t>> children;
  for (const auto& job : jobs) {
    std::vector<pid_t> of_job;
    for (const Environment& rank : job) of_job.push_back(in_process(rank, speaks));
    EXPECT_EQ(count_true(of_job), 1);
  }
}

TEST_F(Launchers, that_number_hosts_let_only_the_first_host_speak) {
  const auto speaks = [] { return speaks_for_host(*promised_ranks()); };
  EXPECT_EQ(
      count_true({in_process({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}, {"GROUP_RANK", "1"}}, speaks)}),
      0);
}

TEST_F(Launchers, that_tell_no_size_are_seen_by_another_rank_beside_this_one) {
  const pid_t other = fork();
  if (other == 0) {
    execle("/bin/sleep", "sleep", "20", static_cast<char*>(nullptr),
           std::vector<const char*>{"PMIX_NAMESPACE=of this test", "PMIX_RANK=1", nullptr}.data());
    _exit(127);
  }
  set({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "of this test"}});
  std::string text;
  for (int look = 0; look < 200 && text.empty(); ++look, usleep(10000)) text = told_if_found(1);
  EXPECT_TRUE(says(text, "started at least 2 ranks (PMIX_NAMESPACE)"));
  set({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "of another job"}});
  EXPECT_EQ(told_if_found(1), "");
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace eave
