// Starts a command whose output goes to a file, and waits for its end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace eave {

struct ProcessEnd {
  int code = 0;            // exit code; 128 + the signal that ended it
  bool was_ended = false;  // `should_end` returned true
};

// Runs `words`. Standard output and standard error are appended to the file `log`, which must exist; standard input is
// empty. The command has a process group of its own, so Ctrl-C does not reach it. If this process dies, the kernel
// sends it SIGTERM.
//
// Calls `should_end` every 50 ms. If that returns true, the command gets SIGTERM, and SIGKILL if it is still there five
// seconds later. `environment` ends with nullptr. If the command cannot be started, the code is 127, and the log says
// why. Throws Error(kResource): no process can be made; kInputOutput: the log cannot be opened.
ProcessEnd run_logged(const std::vector<std::string>& words, const std::vector<const char*>& environment,
                      const std::filesystem::path& log, const std::function<bool()>& should_end);

// The last `most` bytes of a file; "" if it cannot be read.
std::string tail_of(const std::filesystem::path& path, std::size_t most);

// The last lines of a program's log that a person needs: without empty lines, and without the paragraph in which
// Open MPI's mpirun says that some process failed. At most `most`.
std::vector<std::string> last_lines(const std::string& text, std::size_t most);

}  // namespace eave
