// The machine this process runs on, and what limits the process there: the kernel's control groups (cgroups), which
// Slurm, systemd and containers set, and the memory that it can still get.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace eave {

// "unknown" if the system does not tell.
std::string host_name();

// Names this boot of this machine, and the process name space. If two processes have the same name here, a pid means
// the same process to both. Letters, digits and '-'.
std::string machine_name();

// When the process started, in ticks since the machine started. Nothing if there is no such process, or it is a zombie.
std::optional<long long> start_of_process(long long pid);

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
// The two parts of it. -1: not known, or no limit.
std::int64_t shared_memory_left_bytes() noexcept;      // of the machine or the control groups, for all processes
std::int64_t own_address_space_left_bytes() noexcept;  // what ulimit -v leaves this process

// What this process may use, and has used.
std::string core_binding();        // cores this process may run on: "0-3,8"; "?" if the system does not tell
std::int64_t peak_memory_bytes();  // largest resident set so far

// The cores in a text that core_binding has made. Parts of a text that name none are left out.
std::set<int> cores_in(const std::string& binding);

}  // namespace eave
