#include "app/compare/program_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>

#include "base/files/output_path.h"
#include "eave/check.h"

namespace eave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNotStarted = 127;  // as in a shell

// Pointers to the characters of `words`, as exec takes them.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Gives the child the signals of a program that a shell starts: eave itself blocks SIGUSR1 and ignores others.
void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGUSR1, SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_DFL);
}

// Runs in the child, between fork and exec: calls only functions that are safe there.
[[noreturn]] void become(char* const* words, char* const* environment, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNotStarted);  // it died before the call above
  reset_signals();
  const int nothing = ::open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvpe(words[0], words, environment);
  const char* const program = words[0];
  for (const char* text : {program, ": cannot be started: ", static_cast<const char*>(std::strerror(errno)), "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  _exit(kNotStarted);
}

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// Whether the process has ended; `status` is then waitpid's.
bool has_ended(pid_t process, int& status) {
  return uninterrupted([&] { return waitpid(process, &status, WNOHANG); }) != 0;
}

int end_process(pid_t process) {
  constexpr std::chrono::seconds kPatience{5};
  constexpr std::chrono::milliseconds kPause{20};
  int status = 0;
  kill(-process, SIGTERM);
  const Clock::time_point end = Clock::now() + kPatience;
  while (!has_ended(process, status)) {
    if (Clock::now() > end) {
      kill(-process, SIGKILL);
      uninterrupted([&] { return waitpid(process, &status, 0); });
      break;
    }
    std::this_thread::sleep_for(kPause);
  }
  return code_of(status);
}

// The line without the rule at its end: such a rule follows the output of a program that ended within a line.
std::optional<std::string> before_rule(const std::string& line) {
  const std::size_t end = line.find_last_not_of('-') + 1;
  const std::size_t shortest = end == 0 ? 21 : 60;  // programs underline words too
  if (line.size() < end + shortest) return std::nullopt;
  return line.substr(0, end);
}

// Whether Open MPI's mpirun writes this line in the paragraph about a process that failed, whose own output says why.
bool is_of_mpirun(const std::string& line) {
  constexpr const char* kSentences[] = {"non-zero exit code", "non-zero status", "MPI_ABORT was invoked",
                                        "Primary job  terminated normally"};
  return std::ranges::any_of(kSentences, [&](const char* each) { return line.find(each) != std::string::npos; });
}

// The length of the output up to what torchrun says of ranks that failed at last. Their own output, which says why,
// comes before.
std::size_t length_before_torchrun(const std::string& text) {
  constexpr const char *kLogger = "torch/distributed/elastic/multiprocessing/api.py:", *kError = "] failed (exitcode: ";
  for (std::size_t error = text.rfind(kError); error != std::string::npos && error > 0;
       error = text.rfind(kError, error - 1)) {
    const std::size_t before = text.rfind('\n', error), begin = before == std::string::npos ? 0 : before + 1;
    if (text.substr(begin, error - begin).find(kLogger) != std::string::npos) return begin;
  }
  return text.size();
}

}  // namespace

ProcessEnd run_logged(const std::vector<std::string>& words, const std::vector<const char*>& environment,
                      const std::filesystem::path& log, const std::function<bool()>& should_end) {
  constexpr std::chrono::milliseconds kPause{50};
  const Descriptor file = open_own(log, O_WRONLY | O_APPEND);
  if (!file.is_open())
    throw Error(ExitCode::kInputOutput, log.string() + ": cannot be opened: " + std::strerror(errno));
  const std::vector<char*> pointers = pointers_to(words);
  // If whoever started eave ignores SIGCHLD, so does eave. Then the kernel would keep no code of the child.
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid(), process = fork();
  if (process == 0) become(pointers.data(), const_cast<char* const*>(environment.data()), file.number(), parent);
  if (process < 0) throw Error(ExitCode::kResource, std::string("no process can be started: ") + std::strerror(errno));
  setpgid(process, process);  // the child does so too, but perhaps not before the group is asked to end
  for (int status = 0;;) {
    if (has_ended(process, status)) return {code_of(status), false};
    if (should_end()) return {end_process(process), true};
    std::this_thread::sleep_for(kPause);
  }
}

std::string tail_of(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  file.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(most)));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> last_lines(const std::string& text, std::size_t most) {
  std::vector<std::string> kept, paragraph;
  bool is_within = false, is_noise = false;
  const auto keep = [&] {
    if (!is_noise) kept.insert(kept.end(), paragraph.begin(), paragraph.end());
    paragraph.clear();
    is_noise = false;
  };
  std::istringstream lines(text.substr(0, length_before_torchrun(text)));
  for (std::string line; std::getline(lines, line);) {
    if (const std::optional<std::string> before = before_rule(line)) {
      if (!before->empty()) paragraph.push_back(*before);
      keep();
      is_within = !is_within;
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      is_noise = is_noise || (is_within && is_of_mpirun(line));
      paragraph.push_back(line);
    }
  }
  keep();
  if (kept.size() > most) kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(most));
  return kept;
}

}  // namespace eave
