// Runs the scripts that start ranks with a Slurm, an mpirun and an eave that only pretend.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "base/files/input_file.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const fs::path kScripts = EAVE_SOURCE "/mpi_launch";

class SlurmTurn : public testing::Test {
 protected:
  void SetUp() override {
    write_program("mpirun", "if [ \"$1\" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi; exec ./turn");
    write_program("scontrol", "echo \"$@\" >>asked");
    fs::create_directories(place.path() / "run/checkpoint");
  }

  void write_program(const std::string& name, const std::string& body) {
    place.write(name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(place.path() / name, fs::perms::owner_all);
  }

  // A turn in which the ranks do what `body` says. Returns whether the job went back into the queue.
  bool is_requeued(const std::string& body, int code, const std::string& words, const std::string& says = "") {
    write_program("turn", body);
    fs::remove(place.path() / "asked");
    const std::string slurm = "SLURM_NTASKS=2 SLURM_JOB_ID=7 SLURM_RESTART_COUNT=1 PATH=.:$PATH ";
    place.write("job", "set -euo pipefail\nmost_turns=50 again_after=(75 69 137 138 205)\n. " +
                           (kScripts / "start_ranks.sh").string() +
                           "\ntake_words \"$@\"\nstart_in_slurm mpirun\nrun_until_done eave \"${words[@]}\"\n");
    expect_output(code, place.run(slurm + "bash job " + words), {"turn 2", says});
    return fs::exists(place.path() / "asked");
  }

  const Place place;
};

const std::string kTrain = "train --run-dir run";

TEST_F(SlurmTurn, goes_back_into_the_queue_if_it_has_added_a_step_or_a_checkpoint) {
  const std::string line = R"(echo '{"type":"step","rank":0,"step":)";
  EXPECT_TRUE(is_requeued(line + "9}' >>run/metrics.jsonl; exit 69", 69, kTrain));
  EXPECT_TRUE(is_requeued(line + "12}' >>run/metrics.jsonl; exit 137", 137, kTrain));
  EXPECT_TRUE(is_requeued("mkdir run/checkpoint/step-000012; exit 205", 205, kTrain));
  EXPECT_TRUE(is_requeued("mkdir run/a; " + line + "3}' >run/a/metrics.jsonl; exit 69", 69, "compare --output run"));
}

TEST_F(SlurmTurn, without_a_step_of_any_turn_is_the_last) {
  const std::string says = "no further turn: none has added a step to ";
  EXPECT_FALSE(is_requeued("exit 69", 69, kTrain, says + "run"));
  EXPECT_FALSE(is_requeued("echo '{\"type\":\"header\"}' >>run/metrics.jsonl; exit 137", 137, kTrain, says + "run"));
  EXPECT_FALSE(is_requeued("exit 69", 69, "train --run-dir=new", says + "new"));
  EXPECT_FALSE(is_requeued("exit 64", 64, kTrain));
}

// A bad node may end it while it starts.
TEST_F(SlurmTurn, that_adds_nothing_to_a_run_with_steps_goes_back) {
  place.write("run/metrics.jsonl", "{\"type\":\"step\",\"rank\":0,\"step\":9}\n{\"type\":\"header\"}\n");
  for (const int code : {69, 137, 205}) EXPECT_TRUE(is_requeued("exit " + std::to_string(code), code, kTrain)) << code;
  EXPECT_FALSE(is_requeued("exit 64", 64, kTrain));
}

TEST_F(SlurmTurn, that_was_asked_to_leave_or_is_of_a_program_of_its_own_goes_back) {
  EXPECT_TRUE(is_requeued("exit 75", 75, kTrain));
  EXPECT_TRUE(is_requeued("exit 138", 138, kTrain)) << "SIGUSR1 to mpirun itself";
  EXPECT_TRUE(is_requeued("exit 69", 69, "train")) << "without a directory";
  EXPECT_TRUE(is_requeued("exit 69", 69, "-- python3 train.py"));
  const std::string asks = "kill -USR1 $(ps -o ppid= -p $$); sleep 0.3; exit 138";
  EXPECT_TRUE(is_requeued(asks, 138, kTrain)) << "before the ranks were there";
}

// Clusters may still have bash 4.2, which takes an empty array for one that is not set.
TEST(Scripts, expand_arrays_that_may_be_empty_as_early_bash_can) {
  const std::regex bare("(^|[^+])\"\\$\\{(words|pass_on|before_eave|mpirun_options|option|generator)\\[@\\]\\}\"");
  for (const char* name :
       {"start_ranks.sh", "run-hosts", "run-local", "slurm-cpu", "slurm-gpu", "slurm-requeue", "quickstart"}) {
    const std::string text = read_file(kScripts / name);
    EXPECT_FALSE(std::regex_search(text, bare)) << name;
  }
}

}  // namespace
}  // namespace eave
