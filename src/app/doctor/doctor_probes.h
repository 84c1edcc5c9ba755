// Measurements that the ranks make together for `eave doctor`. All functions except plan_links and system_microseconds
// are collective.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/doctor/doctor_facts.h"
#include "eave/transport.h"

namespace eave {

// Each rank writes a file into `path`, looks for rank 0's file, and removes its own. If `path` does not exist yet, the
// ranks use the nearest parent directory that exists on rank 0.
RunDirectoryFacts probe_run_directory(Transport& transport, const std::string& path);

// Returns how many seconds this rank's clock is ahead of rank 0's. The error is at most half the time of a request to
// rank 0. Returns 0 unless `asks`. `microseconds` reads the clock.
std::int64_t system_microseconds();
double measure_clock(Transport& transport, bool asks,
                     const std::function<std::int64_t()>& microseconds = system_microseconds);

// Plans which pairs of ranks are measured, in rounds. Within one round no host is in two pairs. Within a host,
// neighbouring ranks are paired, at most 8 pairs. Between hosts, the lowest ranks of each two hosts are paired, in at
// most 16 rounds.
using Pairs = std::vector<std::pair<int, int>>;
std::vector<Pairs> plan_links(const std::vector<std::vector<int>>& ranks_by_host);

// Measures the links. The result has the links of all ranks and is the same on each rank. A round takes some tenths of
// a second.
std::vector<LinkTime> measure_links(Transport& transport, const std::vector<Pairs>& rounds);

}  // namespace eave
