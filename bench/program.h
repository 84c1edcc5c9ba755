// How the programs of bench end.
#pragma once

#include <cstdio>
#include <exception>

#include "eave/check.h"

namespace eave::bench {

// The exit code of `body`: 0, or that of what escapes it, which is printed as "NAME: text".
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
