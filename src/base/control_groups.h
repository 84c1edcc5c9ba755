// What the kernel's control groups allow this process: those of Slurm, systemd and containers.
#pragma once

#include <cstdint>

namespace eave {

// The tightest limit of the process's own group and of every group above it, in both versions of control groups.
// -1: there is no such limit.
struct GroupLimits {
  std::int64_t memory_bytes = -1;  // the smallest limit (memory.max, memory.high, memory.limit_in_bytes)
  std::int64_t memory_left_bytes =
      -1;             // what the tightest group leaves; cached files that the kernel can drop are free
  double cores = -1;  // the smallest quota, 0.5 is half a core (cpu.max, cpu.cfs_quota_us)
};

// Allocates nothing, so it may be asked when memory is short. Tests give the `root` of a file system of their own,
// which holds proc/self/cgroup, proc/self/mountinfo, and the mount points that the latter names.
GroupLimits control_group_limits(const char* root = "") noexcept;

}  // namespace eave
