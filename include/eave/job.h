// How the ranks of a job are started: the family of transports.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// A member of the transport family: one file in src/transport and one word in its CMake list.
struct TransportKind {
  std::string name;
  std::string summary;
  bool is_launched;  // its ranks are processes that a launcher starts
  // Runs `body` once per rank of this process, each time with its own Transport. Returns the process's exit code when
  // all ranks have finished. The ranks of this process are:
  //     loopback           one rank
  //     threads            `ranks` ranks, each on a thread of its own, rank 0 on the caller's
  //     launched kinds     the one rank that the launcher made of this process; `ranks` is ignored (pass 0). Such a
  //                        kind may be run once per process.
  //
  // An Error that escapes `body` on some rank is printed to stderr as "eave: rank 1 on host: text" (with one rank:
  // "eave: text") and ends the job with its code on all ranks. Any other exception ends it with 70, or 71 if memory
  // has run out. For an AgreedError only rank 0 prints, as "eave: text".
  int (*run)(int ranks, const std::function<void(Transport&)>& body);
  bool starts_ranks = false;  // `run` starts `ranks` ranks in this process, so the transport has the option --ranks
  bool meets = false;         // its ranks meet by themselves (--meet), whatever launcher has started them
};

const std::vector<TransportKind>& transport_kinds();

// True if this process was started by a launcher whose ranks find each other by MPI (mpirun, mpiexec, srun --mpi=pmix),
// also as the only rank. src/transport/job/launchers.h has the details.
bool started_by_launcher();

}  // namespace eave
