// Turns an exception that escaped into one message and an exit code.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/transport.h"

namespace eave {

struct Failure {
  ExitCode code = ExitCode::kInternal;
  // Printable. It has several lines only if they are eave's own (base/printable.h).
  std::string message;
  bool agreed = false;  // all ranks know of this failure
};

// The Failure of another rank. Its message is printable already.
class HeardError : public AgreedError, public HasOwnLines {
 public:
  using AgreedError::AgreedError;
};

// The code and message of any exception. Exceptions that are not eave's get a code and a text of their own.
Failure describe_failure(std::exception_ptr exception) noexcept;

// Runs `body`. Returns nullopt if no exception escaped it.
std::optional<Failure> failure_of(const std::function<void()>& body) noexcept;

// Prints one message to stderr in one write; TransportKind::run says in which form. The text names rank and host if
// there are several ranks and the failure is not agreed.
void print_failure(const Failure& failure, int rank, int ranks) noexcept;

// What print_failure has printed last in this thread; nullopt: nothing.
std::optional<Failure> printed_failure();

// How long this rank lets others print first. Ranks often fail for the same reason at the same moment, without knowing
// of each other, so the lowest rank prints first, and ends the others before their turn.
std::chrono::milliseconds turn_of(int rank);

// Waits for the turn. The launcher ends the other ranks by SIGTERM, which the program may have caught as a request to
// leave; from here on it ends the process again.
void wait_for_turn(int rank);

// A rank that is a process of its own. Runs `body`, prints the failure that escaped it, if any, with one message for
// all ranks, and returns the exit code. If only this rank knows of the
// failure, it ends all others and does not return.
int run_rank(Transport& transport, const std::function<void(Transport&)>& body);

}  // namespace eave
