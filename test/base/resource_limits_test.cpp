// Limits of control groups as Slurm, systemd and containers set them: in the process's own group or in one above it.
// The tests write directory trees that look like the kernel's.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/host.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

class ControlGroups : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = directory_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void process_is_in(const std::string& groups, const std::string& mounts) const {
    write("proc/self/cgroup", groups);
    write("proc/self/mountinfo", "22 1 0:20 / /proc rw,relatime - proc proc rw\n" + mounts);
  }
  GroupLimits limits() const { return control_group_limits(directory_.path().c_str()); }

 private:
  TemporaryDirectory directory_;
};

constexpr const char* kVersion2 = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";

TEST_F(ControlGroups, of_version_2_are_read_from_the_own_group) {
  process_is_in("0::/slurm/job_7/step_0", kVersion2);
  write("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "300000000");
  write("sys/fs/cgroup/slurm/job_7/step_0/memory.current", "100000000");
  write("sys/fs/cgroup/slurm/job_7/step_0/memory.stat", "anon 60000000\ninactive_file 40000000\nactive_file 7");
  write("sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "50000 100000");
  EXPECT_EQ(limits().memory_bytes, 300000000);
  EXPECT_EQ(limits().memory_left_bytes, 300000000 - (100000000 - 40000000)) << "cached files can be dropped";
  EXPECT_EQ(limits().cores, 0.5);
}

TEST_F(ControlGroups, above_the_own_one_limit_it_too) {
  process_is_in("0::/user.slice/job/inner", kVersion2);
  write("sys/fs/cgroup/user.slice/memory.max", "max");
  write("sys/fs/cgroup/user.slice/cpu.max", "max 100000");
  write("sys/fs/cgroup/user.slice/job/memory.max", "200");
  write("sys/fs/cgroup/user.slice/job/memory.current", "150");
  write("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000");
  write("sys/fs/cgroup/user.slice/job/inner/memory.max", "1000");
  write("sys/fs/cgroup/user.slice/job/inner/memory.current", "20");
  write("sys/fs/cgroup/user.slice/job/inner/cpu.max", "400000 100000");
  EXPECT_EQ(limits().memory_bytes, 200);
  EXPECT_EQ(limits().memory_left_bytes, 50);
  EXPECT_EQ(limits().cores, 1.5);
}

TEST_F(ControlGroups, of_a_container_are_the_root_that_it_sees) {
  process_is_in("0::/", kVersion2);
  write("sys/fs/cgroup/memory.max", "1000");
  write("sys/fs/cgroup/memory.current", "1200");
  write("sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(limits().memory_left_bytes, 0);
  EXPECT_EQ(limits().cores, 2);
}

TEST_F(ControlGroups, that_throttle_memory_limit_it) {
  process_is_in("0::/a", kVersion2);
  write("sys/fs/cgroup/a/memory.high", "500");
  write("sys/fs/cgroup/a/memory.max", "900");
  write("sys/fs/cgroup/a/memory.current", "100");
  EXPECT_EQ(limits().memory_left_bytes, 400);
}

TEST_F(ControlGroups, of_version_1_lie_in_a_hierarchy_per_controller) {
  process_is_in("9:name=systemd:/\n4:memory:/jobs/one\n1:cpu,cpuacct:/half\n0::/",
                "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "300");
  write("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "250");
  write("sys/fs/cgroup/memory/jobs/one/memory.stat", "inactive_file 1\ntotal_inactive_file 30");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_quota_us", "25000");
  write("sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_period_us", "50000");
  EXPECT_EQ(limits().memory_bytes, 300);
  EXPECT_EQ(limits().memory_left_bytes, 80);
  EXPECT_EQ(limits().cores, 0.5);
}

// Docker with version 1: /proc/self/cgroup names the group as the host does, but the group is the root of the mount.
TEST_F(ControlGroups, that_are_mounted_in_part_are_found) {
  process_is_in("4:memory:/docker/abc/inner",
                "35 31 0:32 /docker/abc /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,memory");
  write("sys/fs/cgroup/mem ory/memory.limit_in_bytes", "700");
  write("sys/fs/cgroup/mem ory/memory.usage_in_bytes", "100");
  write("sys/fs/cgroup/mem ory/inner/memory.limit_in_bytes", "900");
  write("sys/fs/cgroup/mem ory/inner/memory.usage_in_bytes", "10");
  EXPECT_EQ(limits().memory_left_bytes, 600);
}

TEST_F(ControlGroups, that_are_out_of_sight_leave_the_top_of_the_mount) {
  process_is_in("0::/../elsewhere", kVersion2);
  write("sys/fs/cgroup/memory.max", "700");
  write("sys/fs/cgroup/memory.current", "100");
  write("sys/fs/elsewhere/memory.max", "1");
  EXPECT_EQ(limits().memory_left_bytes, 600);
}

TEST_F(ControlGroups, limit_nothing_if_there_are_none) {
  EXPECT_EQ(limits().memory_left_bytes, -1);
  process_is_in("0::/a", kVersion2);
  write("sys/fs/cgroup/a/memory.max", "max");
  write("sys/fs/cgroup/a/cpu.max", "max 100000");
  EXPECT_EQ(limits().memory_bytes, -1);
  EXPECT_EQ(limits().cores, -1);
}

TEST_F(ControlGroups, are_found_behind_very_long_lines) {
  process_is_in("0::/a", "23 1 0:20 / /" + std::string(20000, 'x') + " rw - overlay overlay rw\n" + kVersion2);
  write("sys/fs/cgroup/a/cpu.max", "50000 100000");
  EXPECT_EQ(limits().cores, 0.5);
}

}  // namespace
}  // namespace eave
