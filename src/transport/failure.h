// From an exception that escaped to one message and an exit code.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "eave/check.h"

namespace eave {

struct Failure {
  ExitCode code = ExitCode::kInternal;
  std::string message;
  bool agreed = false;  // all ranks know of it
};

Failure describe_failure(std::exception_ptr exception) noexcept;

// Runs `body`; nullopt when nothing escaped it.
std::optional<Failure> failure_of(const std::function<void()>& body) noexcept;

// Prints to stderr, in one write, as TransportKind::run says.
void print_failure(const Failure& failure, int rank, int ranks) noexcept;

}  // namespace eave
