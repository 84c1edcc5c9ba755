// What MPI jobs that were killed have left on this host: nobody removes it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

struct LeftoverPlaces {
  std::filesystem::path shared_memory = "/dev/shm";
  std::filesystem::path temporary;  // of session directories
};
LeftoverPlaces leftover_places();  // of this process

// Finds what this user's ended jobs left on this host: segments of shared memory that no process has open, and
// directories of launchers that are gone. Returns patterns for a shell. It names nothing of a job that still runs: the
// kernel says whether a file is in use, also by a process that this one cannot see. Cost: it reads two directories, and
// opens each file that has such a name. `with_empty`: also directories that hold nothing any more, which cost nothing.
std::vector<std::string> find_leftovers(const LeftoverPlaces& places, bool with_empty = true);

// "" where there is nothing; else what it is and the command that removes it.
std::string describe_leftovers(const std::string& host, const std::vector<std::string>& patterns);

// Collective. On rank 0: the same of each host, told by its lowest rank. `hosts`: of every rank.
std::vector<std::string> gather_leftovers(Transport& transport, const std::vector<std::string>& hosts);

}  // namespace eave
