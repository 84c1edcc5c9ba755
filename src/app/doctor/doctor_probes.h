// Facts that ranks of a job can only find together, and files that killed MPI jobs have left on a host.
#pragma once

#include <cstdint>
#include <filesystem>
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

struct StaleFilePlaces {
  std::filesystem::path shared_memory = "/dev/shm";
  std::filesystem::path temporary;  // parent of launchers' session directories
};
StaleFilePlaces stale_file_places();  // the places that MPI uses in this process

// Finds what this user's ended jobs left on this host: shared-memory segments that no process has open, and session
// directories of launchers that no longer run. Returns shell patterns. Nothing of a running job is listed: the kernel
// says whether a file is in use, even by a process that this one cannot see.
// `with_empty`: also lists directories that are empty, which do no harm. Cost: reads two directories and opens each
// file with such a name.
std::vector<std::string> find_stale_files(const StaleFilePlaces& places, bool with_empty = true);

// "" if there is nothing. Otherwise says what was left, and gives the command that removes it.
std::string describe_stale_files(const std::string& host, const std::vector<std::string>& patterns);

// Collective. Returns that text for each host, as found by its lowest rank, on rank 0; nothing on other ranks. `hosts`
// is the host of every rank.
std::vector<std::string> gather_stale_files(Transport& transport, const std::vector<std::string>& hosts);

}  // namespace eave
