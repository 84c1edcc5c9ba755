// Starts ranks, and turns errors into one message and an exit code.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Runs `body` on every rank of this process over the named transport, and returns the process's exit code. "auto" means
// mpi under a launcher, else loopback. TransportKind::run describes how errors are reported.
int run_ranks(const std::string& transport, int ranks, const std::function<void(Transport&)>& body);

// Throws Error(kUsage) if an MPI launcher started this process and the named transport starts its ranks itself. Each
// process would otherwise run the whole job, and all would write to the same places.
void refuse_launcher(const std::string& transport);

// For a command that needs no ranks. Runs `action` in the process that its launcher calls rank 0, or without a
// launcher. All other processes return 0 at once. MPI is never started, so a script may call this on one rank alone.
int run_once(const std::function<void()>& action);

// The same for a failure that all processes have found. All of them return its exit code.
int refuse_once(const std::exception_ptr& failure);

// Ends the job with this failure, which is printed once for all ranks that have it. If the other ranks do not arrive
// within five seconds, this rank prints it and ends without them.
int refuse_to_run(const std::exception_ptr& failure);

// The common part of all subcommands. If the words ask for help, prints `help`. Otherwise `read` reads the words. If it
// throws an Error, the job ends before anything else is done, with one message. Then `run` runs, and its exit code is
// returned.
int run_command(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                const std::function<int()>& run);

// The same for a command that needs no ranks: see run_once.
int run_command_once(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                     const std::function<void()>& action);

}  // namespace eave
