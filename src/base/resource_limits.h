// Limits of this process: those that the kernel's control groups (cgroups) set (Slurm, systemd, containers), and how
// much memory it can still get.
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

// In bytes: the machine's free memory, swap included, or less if a limit of the process (ulimit -v) or of its control
// groups leaves less. -1 if it is not known. Other processes may take some of it meanwhile.
std::int64_t available_memory_bytes() noexcept;

}  // namespace eave
