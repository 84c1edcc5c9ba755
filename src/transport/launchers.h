// The launchers that start ranks, by what they leave in the environment of each process.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "eave/check.h"

namespace eave {

// A kind of launcher. Its variables: nullptr where it has none of that kind.
struct Launcher {
  const char* name;
  const char* size;        // how many ranks it started
  const char* rank;        // which of them this process is
  const char* local_rank;  // which of those on this host
  const char* host;        // which of the job's hosts this is
  const char* job;         // the same on all ranks, and another in each job
  bool is_of_mpi;          // its ranks find each other by MPI
  // A pod or a script may set these variables for itself, without a launcher. So a transport that is named on the
  // command line is obeyed, and one more variable tells that a launcher was there.
  bool may_be_exported;
  const char* advice;  // how to start several ranks instead
};

std::span<const Launcher> launchers();

// That a launcher started so many ranks. Where fewer find each other, each would run the whole job by itself.
struct PromisedRanks {
  const Launcher* launcher = nullptr;
  int ranks = 1;         // at least
  std::string variable;  // by which that is known: "WORLD_SIZE"
  int rank = 0, local_rank = 0, host = 0;
  std::string job;
  std::string garbled;  // the value of `variable` that is no number, so that nobody knows how many ranks there are
};

// The largest promise in the environment. To be asked for before MPI_Init: an MPI that takes itself for the only rank
// may change those variables.
std::optional<PromisedRanks> promised_ranks();

// What a launcher promised, if it is more than one rank and these ranks will not look for each other by MPI.
// `transport`: the transport of that name, or "auto" if none was named.
std::optional<PromisedRanks> lost_ranks(const std::string& transport);

// The message, with kPeerLost, if only `found` ranks were found.
std::string describe_lost(const PromisedRanks& promised, int found);

// Whether this process prints the failure. All ranks fail alike and do not know of each other, so one rank of each host
// gets true, at once or within half a second. If the launcher numbers hosts, only the first host has such a rank. Ask
// once in a process for each `occasion`.
bool speaks_for_host(const PromisedRanks& promised, const std::string& occasion = "");

// The rank that the launcher calls this process, for messages and for what needs no ranks: others come from MPI. 0
// without a launcher.
int rank_by_launcher();

}  // namespace eave
