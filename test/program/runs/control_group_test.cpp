// Trains inside a control group with low limits, such as Slurm, systemd and containers make. Needs root and the right
// to make control groups.
#include <gtest/gtest.h>
#include <unistd.h>

#include "test/program/expectations.h"

namespace eave {
namespace {

// A shell script that makes a group for each of the two controllers. Inside each is a group without a limit of its own.
constexpr const char* kGroups =
    "memory=/sys/fs/cgroup/memory cpu=/sys/fs/cgroup/cpu; [ -d $memory ] || memory=/sys/fs/cgroup cpu=/sys/fs/cgroup; "
    "memory=$memory/eave-test-$NAME cpu=$cpu/eave-test-$NAME; ";

class Limited : public ::testing::Test {
 protected:
  void SetUp() override {
    const Ended made = run(
        "mkdir -p $memory/inner $cpu/inner && if [ -e $memory/memory.limit_in_bytes ]; then echo 300M "
        ">$memory/memory.limit_in_bytes && echo 50000 >$cpu/cpu.cfs_quota_us; else echo 300M >$memory/memory.max && "
        "echo '50000 100000' >$cpu/cpu.max; fi");
    if (made.code != 0) GTEST_SKIP() << "no control groups can be made here: " << made.errors;
  }
  void TearDown() override { run("rmdir $memory/inner $cpu/inner $memory $cpu 2>/dev/null"); }

  Ended run(const std::string& command) const {
    place_.write("script", "NAME=" + std::to_string(::getpid()) + "\n" + kGroups + command + "\n");
    return place_.run("sh script");
  }
  Ended eave(const std::string& words) const {
    return run(
        "sh -c 'echo $$ >$0/inner/cgroup.procs; echo $$ >$1/inner/cgroup.procs; shift; exec \"$@\"' $memory $cpu " +
        program() + " " + words);
  }

 private:
  Place place_;
};

TEST_F(Limited, training_says_so_on_its_card) {
  const Ended ended = expect_output(0, eave("train" + std::string(kQuick)),
                                    {"its control group allows 0.5 cores and 300 MiB of memory"});
  EXPECT_TRUE(ended.says("1 rank with 1 thread has 0.5 cores that its control group allows")) << ended.errors;
}

TEST_F(Limited, training_that_needs_more_memory_is_refused_and_not_killed) {
  expect_end(
      71,
      eave(
          "train --data synthetic --synthetic-size 32 --synthetic-samples 97 --synthetic-test-samples 23 --max-steps 2 "
          "--model 'flatten; dense 30000; relu; dense classes'"),
      {"out of memory: "});
}

TEST_F(Limited, doctor_says_what_is_allowed) {
  const Ended ended = eave("doctor --device cpu");
  expect_parts(ended.output, {"its control group allows 0.3 GiB in all",
                              "1 rank, and the control group allows 0.5 cores", "0.3 GiB of free memory"});
}

}  // namespace
}  // namespace eave
