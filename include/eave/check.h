// Errors: what went wrong, where, and what to do about it.
#pragma once

#include <stdexcept>
#include <string>

namespace eave {

// Exit codes follow sysexits.h; every rank of a job leaves with the same one.
enum class ExitCode : int {
  kDone = 0,
  kUsage = 64,          // an option is unknown, contradictory or has no effect
  kBadData = 65,        // a data file or checkpoint is damaged or foreign
  kInputMissing = 66,   // a file that was named is not there
  kPeerLost = 69,       // a peer is gone, or a service (launcher, package) is not available
  kInternal = 70,       // a bug in eave
  kResource = 71,       // device, MPI or memory could not be had
  kCannotCreate = 73,   // an output cannot be created
  kInputOutput = 74,    // disk full, read or write error
  kLeftOnRequest = 75,  // left after a checkpoint: run again with --resume
  kDiverged = 76,       // training produced values that are not finite
  kConfiguration = 78,  // the ranks, or model and data, do not fit together
};

// The one exception type of eave. `what()` is a message for the person who started the job: what happened, where
// (file, offset, option, rank), and what to do. It travels to main, which prints it once and leaves with `code()`.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

// Throws Error(kInternal) naming the statement and its place.
[[noreturn]] void fail_check(const char* statement, const char* file, int line, const std::string& detail);

}  // namespace eave

// Holds an invariant of eave itself; never for what a person typed or a file contains (throw Error for those).
#define EAVE_CHECK(condition, detail) \
  ((condition) ? static_cast<void>(0) : ::eave::fail_check(#condition, __FILE__, __LINE__, (detail)))
