#include "app/compare/program_runs.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

#include "app/main/launch.h"
#include "base/files/output_file.h"
#include "base/host.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "eave/check.h"
#include "report/read/run_reader.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::string shown(const fs::path& path) { return printable(path.string()); }

std::string line_of(const Words& program) { return printable(shell_text(program)); }

// The error of a run: what happened, the end of its output, and where the rest is.
LinesError failure_of(const Cell& cell, ExitCode code, const std::string& what, const std::string& command,
                      const fs::path& log) {
  constexpr std::size_t kMostLines = 12, kMostBytes = 1 << 16;
  std::vector<std::string> output = last_lines(tail_of(log, kMostBytes), kMostLines);
  std::erase(output, command);  // the first line of the log
  std::vector<std::string> lines = {printable(cell.label) + ": " + what};
  for (const std::string& line : output) lines.push_back("  | " + printable(line));
  lines.push_back((output.empty() ? "It printed nothing. Its command is in " : "All of its output: ") + shown(log));
  return {code, lines};
}

// The code of the comparison if a run ended with `code`: that of an Error of eave, which the program passed on, or that
// of a rank that is gone.
ExitCode code_for(int code) {
  for (const ExitCode each :
       {ExitCode::kUsage, ExitCode::kBadData, ExitCode::kInputMissing, ExitCode::kInternal, ExitCode::kResource,
        ExitCode::kCannotCreate, ExitCode::kInputOutput, ExitCode::kConfiguration}) {
    if (code == static_cast<int>(each)) return each;
  }
  return ExitCode::kPeerLost;
}

// The number that changes when a file grows or appears.
std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// Names this process to the ranks on this machine, which end when it is gone (include/python/eave/_starter.py).
std::string starter_variable() {
  const long long started = start_of_process(::getpid()).value_or(0);
  return "EAVE_STARTED_BY=" + machine_name() + " " + std::to_string(::getpid()) + " " + std::to_string(started);
}

// Notices that files have not grown for a while.
class Silence {
 public:
  Silence(std::vector<fs::path> files, double limit_seconds) : files_(std::move(files)), limit_(limit_seconds) {}

  bool is_too_long() {
    const Clock::time_point now = Clock::now();
    std::uintmax_t size = 0;
    for (const fs::path& file : files_) size += size_of(file);
    if (size != size_) since_ = now;
    size_ = size;
    return limit_ > 0 && std::chrono::duration<double>(now - since_).count() > limit_;
  }

 private:
  const std::vector<fs::path> files_;
  const double limit_;
  std::uintmax_t size_ = 0;
  Clock::time_point since_ = Clock::now();
};

}  // namespace

ProgramRuns::ProgramRuns(const Grid& grid, const OptionValues& own, const char* const* environment)
    : grid_(grid),
      own_(own),
      environment_(environment),
      output_(own.text("output")),
      program_(words_of_command(own, "program")),
      launcher_(read_launcher(own, place_)),
      progress_(grid, true) {}

// The log lies beside the run's directory, which the program fills.
ProgramRuns::Files ProgramRuns::files_of(const Cell& cell) const {
  return {output_ / cell.name, output_ / (cell.name + ".log"), output_ / (cell.name + ".method")};
}

Words ProgramRuns::command_of(const Cell& cell) const {
  return launch_command(launcher_, grid_.groups[cell.group].ranks, variables_of_run(grid_, cell, own_), program_,
                        place_);
}

void ProgramRuns::show(const std::vector<Cell>& cells) const {
  for (const Cell& cell : cells) std::printf("%s\n", printable(shell_text(command_of(cell))).c_str());
}

bool ProgramRuns::keeps(const fs::path& directory) const {
  if (!holds_run(directory)) return false;
  const RunRecord run = read_run(directory);
  if (run.end == RunEnd::kDiverged) return true;
  if (run.end != RunEnd::kFinished || run.evaluations.empty()) return false;
  return !grid_.tunes() || run.evaluations.back().record.validation;
}

bool ProgramRuns::was_run(const Cell& cell) const {
  const fs::path directory = files_of(cell).run;
  try {
    return keeps(directory);
  } catch (const Error& error) {
    print_warning(std::string(error_of_run(directory, error).what()) + "; the run is made anew");
    return false;
  }
}

ProcessEnd ProgramRuns::carry_out(const Cell& cell, const Files& files) {
  const std::atomic<bool>& is_asked = ask_to_leave_by_signals();
  const Words command = command_of(cell);
  create_run_directory(files.run, true);
  prepare_run_directory(files.run, true);
  remove_output(files.taken);
  remove_output(OutputFolder(files.run) / "metrics.jsonl");  // the program begins its run
  write_file_atomically(files.log, shell_text(command) + "\n");
  Silence silence({files.log, files.run / "metrics.jsonl"}, own_.seconds("limit-silence"));
  const std::string started_by = starter_variable();
  std::vector<const char*> environment = {started_by.c_str()};
  for (const char* const* each = environment_; *each; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  was_silent_ = false;
  const ProcessEnd end = run_logged(command, environment, files.log, [&] {
    was_silent_ = silence.is_too_long();
    return was_silent_ || is_asked.load();
  });
  if (is_asked) {
    throw Error(ExitCode::kLeftOnRequest, "left on request; what is finished is kept in " + shown(output_) +
                                              ": the same command goes on with the rest");
  }
  return end;
}

CellOutcome ProgramRuns::judge(const Cell& cell, const Files& files, const ProcessEnd& end) const {
  const std::string name = line_of(program_);
  const auto fail = [&](ExitCode code, const std::string& what) {
    throw failure_of(cell, code, what, shell_text(command_of(cell)), files.log);
  };
  if (was_silent_) {
    fail(ExitCode::kPeerLost,
         name + " was ended: for " + own_.text("limit-silence") +
             " it has written no line of output or metrics (--limit-silence). The end of its output:");
  }
  if (end.code == static_cast<int>(ExitCode::kDiverged)) return {true, "diverged", {}};
  // torchrun and srun end with codes of their own, whatever the ranks end with.
  if (end.code != 0 && state_of_run(files.run) == RunState::kDiverged) return {true, "diverged", {}};
  if (end.code != 0)
    fail(code_for(end.code), name + " ended with code " + std::to_string(end.code) + ". The end of its output:");
  std::error_code error;
  if (!fs::exists(files.taken, error)) {
    fail(ExitCode::kUsage, name +
                               " ended without an Averager, so it knows nothing of the method: write averager = "
                               "eave.Averager(model, optimizer). The end of its output:");
  }
  remove_output(files.taken);
  if (!holds_run(files.run)) {
    fail(ExitCode::kUsage, name +
                               " has recorded nothing: write with eave.Run(...) as run around the steps, and "
                               "run.evaluate(...) at the end. The end of its output:");
  }
  const RunRecord run = read_run(files.run);
  if (run.end == RunEnd::kDiverged) return {true, run.why, {}};
  if (run.end != RunEnd::kFinished)
    fail(ExitCode::kBadData, name + " has not ended its run, so its results are not whole: " + run.why +
                                 ". Close the run, or use it in a with block. The end of its output:");
  if (run.evaluations.empty())
    fail(ExitCode::kUsage, name +
                               " has recorded no evaluation: evaluate at least once, at the end of the run. The end "
                               "of its output:");
  if (grid_.tunes() && !run.evaluations.back().record.validation) {
    fail(ExitCode::kUsage, name +
                               " has recorded no validation score, by which the learning rate is chosen (--lr): "
                               "evaluate on data that is neither trained nor tested on, too. The end of its output:");
  }
  return {false, "", *run.summary};
}

void ProgramRuns::require_unchanged_script() const {
  for (const auto& [name, script] : grid_.settings)
    if (name == kScriptSetting) require_same_script(script, identity_of_script(program_), output_.string());
}

CellOutcome ProgramRuns::make(const Cell& cell) {
  const Files files = files_of(cell);
  const Clock::time_point start = Clock::now();
  const ProcessEnd end = carry_out(cell, files);
  progress_.add_time(std::chrono::duration<double>(Clock::now() - start).count(), 1);
  return judge(cell, files, end);
}

void ProgramRuns::run(const std::vector<Cell>& cells, std::size_t of_all) {
  std::vector<const Cell*> left;
  for (const Cell& cell : cells) {
    if (!was_run(cell)) left.push_back(&cell);
  }
  progress_.begin(of_all, cells.size() - left.size(), cells.size());
  for (const Cell* cell : left) {
    require_unchanged_script();
    progress_.tell(*cell, make(*cell));
  }
}

std::vector<const std::string*> ProgramRuns::choose_rates() const {
  std::vector<const std::string*> chosen;
  for (std::size_t group = 0; group < grid_.groups.size(); ++group) {
    const int number = best_rate(grid_, group, output_);
    chosen.push_back(number < 0 ? nullptr : &grid_.groups[group].rates[static_cast<std::size_t>(number)]);
  }
  return chosen;
}

std::vector<OptionStep> ProgramRuns::choose_steps(const std::vector<const std::string*>& chosen) const {
  return option_steps(grid_, chosen, output_);
}

}  // namespace eave
