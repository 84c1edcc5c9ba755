// Finds files that killed MPI jobs left on this host. Nothing else removes them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

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
