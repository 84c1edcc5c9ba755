// Starting ranks.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Runs `body` on every rank of this process over the named transport ("auto": mpi under a launcher, else loopback) and
// returns the process's exit code. See TransportKind::run for how errors are reported.
int run_ranks(const std::string& transport, int ranks, const std::function<void(Transport&)>& body);

// Under a launcher each process would run the whole job on its own, and all would write to the same places: throws
// Error(kUsage) where the named transport starts its ranks itself.
void refuse_launcher(const std::string& transport);

// For what needs no ranks. Runs `action` in the process that its launcher calls rank 0, also without a launcher; the
// others return 0 at once. Nobody starts MPI: a script may call this on one rank alone.
int run_once(const std::function<void()>& action);

// The same for a failure that all processes have found. All return its code.
int refuse_once(const std::exception_ptr& failure);

// Ends the job with this failure, told once for all ranks that have it. Where the other ranks do not come within five
// seconds this one ends without them.
int refuse_to_run(const std::exception_ptr& failure);

// What a rank was started to do: names and values, the same on all ranks of a job. Empty: it could not be understood.
using Intent = std::map<std::string, std::string>;

// The program that this process runs: version, and a hash of its file.
std::string program_identity();

// Collective, and the first thing that ranks do together: mpirun can start each with options of its own, and ranks that
// take different numbers of steps would wait for each other for ever. Throws AgreedError(kConfiguration) naming what
// differs and on which ranks; another eave on one of the hosts is told first. Where a rank's intent is empty nothing is
// compared: that rank is about to fail.
void require_same_intent(Transport& transport, const Intent& mine);

// Collective. The same for what ranks have found since: throws AgreedError(kConfiguration), `head`: what differs, and
// on which ranks. `advice`.
void require_same(Transport& transport, const Intent& mine, const std::string& head, const std::string& advice);

// What every subcommand has in common. `help` is printed where the words ask for it. Else `read` makes of them what it
// needs: an Error there ends the job before anything is done, told once. Then `run`, whose exit code is returned.
int run_command(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                const std::function<int()>& run);

// The same for a command that needs no ranks: see run_once.
int run_command_once(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                     const std::function<void()>& action);

}  // namespace eave
