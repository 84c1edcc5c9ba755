// Limits that the kernel's control groups set for this process: those of Slurm, systemd and containers.
#pragma once

#include <cstdint>

namespace eave {

// The tightest limits of the process's group and of all groups above it, in both versions of control groups. -1: no
// such limit.
struct GroupLimits {
  // The smallest limit (memory.max, memory.high, memory.limit_in_bytes).
  std::int64_t memory_bytes = -1;
  // What the tightest group leaves. Cached files that the kernel can drop count as free.
  std::int64_t memory_left_bytes = -1;
  // The smallest quota (cpu.max, cpu.cfs_quota_us); 0.5 is half a core.
  double cores = -1;
};

// Allocates nothing, so it may be called when memory is short. Tests pass the `root` of a file system of their own. It
// holds proc/self/cgroup, proc/self/mountinfo, and the mount points that the latter names.
GroupLimits control_group_limits(const char* root = "") noexcept;

}  // namespace eave
