// Turns exceptions into messages and exit codes, for the main functions of the benchmark programs.
#pragma once

#include <cstdio>
#include <exception>

#include "eave/check.h"

namespace eave::bench {

// Runs `body` and returns 0. If an exception escapes, prints "NAME: text" to standard error and returns its exit code;
// kInternal if it is no Error.
template <typename Body>
int run_program(const char* name, const Body& body) {
  ExitCode code = ExitCode::kInternal;
  try {
    body();
    return 0;
  } catch (const Error& error) {
    code = error.code();
    std::fprintf(stderr, "%s: %s\n", name, error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
  }
  return static_cast<int>(code);
}

}  // namespace eave::bench
