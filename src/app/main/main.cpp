// The program `eave`: prepares signals and standard streams, and starts the subcommand.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "app/commands/text_printer.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "eave/check.h"
#include "transport/mpi/mpi_library.h"

namespace {

int refuse(const std::string& word) {
  try {
    eave::refuse_command(word);
  } catch (const eave::Error&) {
    return eave::refuse_once(std::current_exception());
  }
}

// Opens standard streams that are closed. Otherwise the first file to be opened would take the place of such a stream,
// and receive what is meant for it.
void open_standard_streams() {
  int opened = 0;
  do {
    opened = ::open("/dev/null", O_RDWR);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) ::close(opened);
}

// Makes a lost reader (head) or a limit on file sizes an error of one write, instead of ending the process.
void keep_writing() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

// Printed text is a result too, so a failure to write it changes the exit code. If the reader has left, nobody misses
// the text.
int with_output_written(int code) {
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_written || code != 0 || eave::has_reader_left()) return code;
  std::fputs("eave: cannot write to standard output: is the disk full? What was printed is not all there\n", stderr);
  return static_cast<int>(eave::ExitCode::kInputOutput);
}

// The second line names the MPI library that this process found. It may differ on another host.
std::string versions() {
  const std::string mpi = eave::mpi_library();
  return "eave " EAVE_VERSION "\n" + (mpi.empty() ? "built without MPI" : "with " + mpi) + "\n";
}

// Blocks SIGUSR1 before the libraries' constructors run, as early in this process as possible.
using Initialiser = void(int, char**, char**);
[[gnu::used, gnu::section(".preinit_array")]] Initialiser* const hold_first = [](int, char**, char**) {
  eave::hold_sigusr1();
};

int run(const std::vector<std::string>& words, const char* const* environment) {
  const auto known = eave::commands();
  const auto command =
      std::ranges::find_if(known, [&](const auto& each) { return !words.empty() && words[0] == each.name; });
  if (command == known.end() || !command->may_leave) eave::release_sigusr1();
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    return eave::run_once([] { std::fputs(eave::usage().c_str(), stdout); });
  }
  if (words[0] == "--version") return eave::run_once([] { std::fputs(versions().c_str(), stdout); });
  if (command == known.end()) return refuse(words[0]);
  return command->run({words.begin() + 1, words.end()}, environment);
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  open_standard_streams();
  keep_writing();
  return with_output_written(run({argv + 1, argv + argc}, environment));
}
