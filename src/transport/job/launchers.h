// The launchers that start ranks, known by the variables that they set in each process's environment.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "eave/check.h"
#include "eave/job.h"

namespace eave {

// A kind of launcher and the names of its environment variables. nullptr: it sets no such variable.
struct Launcher {
  const char* name;
  const char* size;        // how many ranks it started
  const char* rank;        // this process's rank
  const char* local_rank;  // this process's rank among those of its host
  const char* host;        // number of this process's host
  const char* job;         // a value that all ranks share and no other job has
  bool is_of_mpi;          // its ranks find each other by MPI
  // Whether a pod or a script may set these variables itself, without a launcher. If so, eave obeys a transport named
  // on the command line, and takes the rank from them only if `local_rank` is set too.
  bool may_be_exported;
  const char* advice;  // how to start several ranks instead, for a message
};

std::span<const Launcher> launchers();

// How many ranks a launcher started. If fewer find each other, each of them would run the whole job by itself.
struct PromisedRanks {
  const Launcher* launcher = nullptr;
  int ranks = 1;         // at least this many
  std::string variable;  // the variable that says so, such as "WORLD_SIZE"
  int rank = 0, local_rank = 0, host = 0;
  std::string job;
  // If `variable` holds no number, its value. Then nobody knows how many ranks there are.
  std::string garbled;
};

// The largest number of ranks that the environment promises. Call it before MPI_Init: an MPI that finds no other rank
// may change these variables.
std::optional<PromisedRanks> promised_ranks();

// The promise of a launcher, if it covers several ranks and these will not find each other by MPI. `transport`: the
// name of the chosen transport, or "auto". A transport whose ranks meet by themselves loses none.
std::optional<PromisedRanks> lost_ranks(const std::string& transport);

// The transport that `name` stands for. "auto" is mpi if the ranks find each other by MPI, tcp if EAVE_MEET says where
// they meet (tcp_job.h), else loopback.
std::string resolve_transport(const std::string& name, bool has_mpi = started_by_launcher());

// The message of an Error(kPeerLost) that says that only `found` ranks were found.
std::string describe_lost(const PromisedRanks& promised, int found);

// Whether this process prints the failure. All ranks fail alike without knowing of each other, so one rank of each host
// gets true, at once or within half a second. If a launcher without MPI numbers the hosts, only the first host has such
// a rank. Call it once per process for each `occasion`.
bool speaks_for_host(const PromisedRanks& promised, const std::string& occasion = "");

// The rank that the launcher gave to this process; 0 without a launcher. For messages, and for work that needs no
// transport; the transport's rank comes from MPI.
int rank_by_launcher();

}  // namespace eave
