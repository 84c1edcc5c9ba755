// Starting ranks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Runs `body` on every rank of this process over the named transport ("auto": mpi under a launcher, else loopback) and
// returns the process's exit code. See TransportKind::run for how errors are reported.
int run_ranks(const std::string& transport, int ranks, const std::function<void(Transport&)>& body);

// Runs `action` on rank 0 of the job alone: for what is printed once.
int run_once(const std::function<void()>& action);

bool asks_for_help(const std::vector<std::string>& words);

}  // namespace eave
