// Errors and exit codes.
#pragma once

#include <stdexcept>
#include <string>

namespace eave {

// Exit codes of `eave` and of programs that use it, numbered as in sysexits.h. All ranks of a job exit with the same
// code, but for a rank that never reached rank 0 by TCP: it exits with kPeerLost.
enum class ExitCode : int {
  kDone = 0,
  kUsage = 64,          // an option is unknown, contradictory or has no effect
  kBadData = 65,        // a data file or checkpoint is damaged or foreign
  kInputMissing = 66,   // a named file does not exist
  kPeerLost = 69,       // another rank is gone, or a service (launcher, package) is not available
  kInternal = 70,       // replicas differ, ranks are out of step, or eave has a bug
  kResource = 71,       // a device, MPI or memory is not available
  kCannotCreate = 73,   // an output cannot be created
  kInputOutput = 74,    // disk full, read or write error
  kLeftOnRequest = 75,  // the run was asked to leave and saved a checkpoint: run again with --resume
  kDiverged = 76,       // training produced values that are not finite
  kConfiguration = 78,  // the ranks, or model and data, do not fit together
};

// The base of all exceptions that eave throws. `what()` is a message for the person who started the job: what happened,
// where (file, offset, option, rank), and what to do. main catches it, prints it once and exits with `code()`.
class Error : public std::runtime_error {
 public:
  // A byte 0 in the message becomes '?'. A name from a file may have one, and what() would end there.
  Error(ExitCode code, const std::string& message) : std::runtime_error(without_byte_0(message)), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  static std::string without_byte_0(std::string message) {
    for (char& letter : message) letter = letter == '\0' ? '?' : letter;
    return message;
  }

  ExitCode code_;
};

// Throws Error(kInternal), which names the statement and its place. EAVE_CHECK calls it.
[[noreturn]] void fail_check(const char* statement, const char* file, int line, const std::string& detail);

}  // namespace eave

// Checks an invariant of eave itself, in all builds. Do not use it for input from people or files: throw Error instead.
#define EAVE_CHECK(condition, detail) \
  ((condition) ? static_cast<void>(0) : ::eave::fail_check(#condition, __FILE__, __LINE__, (detail)))
