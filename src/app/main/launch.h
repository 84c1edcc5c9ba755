// Starts ranks, turns errors into one message and an exit code, and hears signals that ask a run to save a checkpoint
// and end. They come from batch systems before a time limit (mpirun passes them on), from Ctrl-C, and from a terminal
// that is closed.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Runs `body` on every rank of this process over the named transport, and returns the process's exit code. "auto": see
// resolve_transport (src/transport/job/launchers.h). TransportKind::run describes how errors are reported.
int run_ranks(const std::string& transport, int ranks, const std::function<void(Transport&)>& body);

// Whether the named transport starts the ranks itself, as threads of this process (TransportKind::starts_ranks).
bool starts_ranks(const std::string& transport);

// Throws Error(kUsage) if an MPI launcher started this process and the named transport starts its ranks itself. Each
// process would otherwise run the whole job, and all would write to the same places.
void refuse_launcher(const std::string& transport);

// For a command that needs no ranks. Runs `action` in the process that its launcher calls rank 0, or without a
// launcher. All other processes return 0 at once. MPI is never started, so a script may call this on one rank alone.
int run_once(const std::function<void()>& action);

// The same for a failure that all processes have found. All of them return its exit code.
int refuse_once(const std::exception_ptr& failure);

// Ends the job with this failure, which is printed once for all ranks that have it. If some ranks do not arrive within
// five seconds, the others end without them, and one of each host prints it.
int refuse_to_run(const std::exception_ptr& failure);

// The common part of all subcommands. If the words ask for help, prints `help`. Otherwise `read` reads the words. If it
// throws an Error, the job ends before anything else is done, with one message. Then `run` runs, and its exit code is
// returned.
int run_command(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                const std::function<int()>& run);

// The same for a command that needs no ranks: see run_once.
int run_command_once(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                     const std::function<void()>& action);

// The same. `read` makes a request from the words, and `act` carries it out.
template <class Line, class Read, class Act>
int run_request(const Line& line, const std::vector<std::string>& words, const Read& read, const Act& act) {
  decltype(read(line, words)) request;
  return run_command_once(
      words, line.help(), [&] { request = read(line, words); }, [&] { act(request); });
}

// Prints "eave: warning: TEXT" on standard error, or nothing if the text is empty.
void print_warning(const std::string& text);

// Blocks SIGUSR1 in this thread and in all threads that it starts, until one of the functions below is called. Call it
// before anything else, also before constructors.
void hold_sigusr1() noexcept;
// Unblocks SIGUSR1, which then ends the process as by default. For commands that cannot leave on request.
void release_sigusr1() noexcept;

// Makes SIGUSR1 set the returned flag instead of ending the process, from now to the end of the process. A signal that
// was blocked before counts too. May be called by any thread, any number of times.
const std::atomic<bool>& hear_sigusr1();

// The same for SIGUSR1, SIGTERM, SIGINT (Ctrl-C) and SIGHUP (the terminal was closed). A further SIGTERM
// or SIGHUP more than 2 s after the first ends the process, and so does a further SIGINT after 0.3 s
// (guard/repeated_signal.h). SIGINT and SIGHUP stay ignored if they were: by nohup, or in the background of a script.
const std::atomic<bool>& ask_to_leave_by_signals();

// Whether one of the signals was SIGINT: a person waits at a terminal.
const std::atomic<bool>& was_interrupted();

}  // namespace eave
