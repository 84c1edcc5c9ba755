// From an exception that escaped to one message and an exit code.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "base/message.h"
#include "eave/check.h"
#include "eave/transport.h"

namespace eave {

struct Failure {
  ExitCode code = ExitCode::kInternal;
  std::string message;  // printable; of several lines only if they are eave's own (base/message.h)
  bool agreed = false;  // all ranks know of it
};

// Another rank's Failure: its message is printable already.
class HeardError : public AgreedError, public HasOwnLines {
 public:
  using AgreedError::AgreedError;
};

Failure describe_failure(std::exception_ptr exception) noexcept;

// Runs `body`; nullopt when nothing escaped it.
std::optional<Failure> failure_of(const std::function<void()>& body) noexcept;

// Prints to stderr, in one write, as TransportKind::run says.
void print_failure(const Failure& failure, int rank, int ranks) noexcept;

}  // namespace eave
