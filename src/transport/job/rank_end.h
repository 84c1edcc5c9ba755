// How a rank that is a process of its own ends when it fails: one message for all ranks, one exit code.
#pragma once

#include <chrono>
#include <functional>

#include "eave/transport.h"

namespace eave {

// How long this rank lets others print first. Ranks often fail for the same reason at the same moment, without knowing
// of each other, so the lowest rank prints first, and ends the others before their turn.
std::chrono::milliseconds turn_of(int rank);

// Waits for the turn. The launcher ends the other ranks by SIGTERM, which the program may have caught as a request to
// leave; from here on it ends the process again.
void wait_for_turn(int rank);

// Runs `body`, prints the failure that escaped it, if any, and returns the exit code. If only this rank knows of the
// failure, it ends all others and does not return.
int run_rank(Transport& transport, const std::function<void(Transport&)>& body);

}  // namespace eave
