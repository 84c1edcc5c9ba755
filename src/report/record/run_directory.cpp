#include "report/record/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/files/file_errors.h"
#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/formats/strict_json.h"
#include "eave/check.h"
#include "report/read/line_reader.h"
#include "report/record/config.h"
#include "report/record/json.h"
#include "report/record/tensorboard.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCallsFile = "calls-rank-";  // written by the watchdog when it ends a run
constexpr const char* kModel = "model.safetensors";
constexpr std::array kRunFiles = {"config.json",     kSummaryFile,      kModel,
                                  "ema.safetensors", "exchanges.order", "trace.json"};

[[noreturn]] void refuse(const OutputFolder& run, const std::string& why) {
  throw Error(ExitCode::kCannotCreate, "--run-dir " + run.path().string() + ": " + why);
}

std::vector<std::string> names_of(const OutputFolder& folder) {
  int error = 0;
  return names_in(folder, error);
}

// Whether a file may be left over from a run that ended during its start. Such files hold no results.
bool is_remnant(const OutputFolder& run, const std::string& name) {
  if (name == kCheckpoints) {
    int error = 0;
    const std::vector<std::string> inside = names_in(run.below(kCheckpoints), error);
    return error == 0 && std::ranges::all_of(inside, [](const auto& each) { return each.ends_with(".partial"); });
  }
  return name.starts_with(kRunLock) || name == "metrics.jsonl.partial" || name == "config.json.partial" ||
         name.starts_with(kCallsFile);
}

bool has_nothing(const OutputFolder& run) {
  int error = 0;
  const std::vector<std::string> names = names_in(run, error);
  return (error == 0 || error == ENOENT) &&
         std::ranges::all_of(names, [&](const auto& name) { return is_remnant(run, name); });
}

// The files of an earlier run in this directory. Other programs' files are not included.
std::vector<OutputPath> files_of_run(const OutputFolder& run) {
  std::vector<OutputPath> files;
  for (const char* name : kRunFiles) files.push_back(run / name);
  // The new run's curves must not mix with those of the overwritten run.
  for (const std::string& name : names_of(run)) {
    const bool is_curve = name.starts_with(kEventFile) && name.find(kEventFileOfEave) != std::string::npos;
    if (is_curve || name.starts_with(kCallsFile)) files.push_back(run / name);
  }
  files.push_back(run / kMetricsFile);  // last: it marks a run, also one that is half removed
  return files;
}

void require_free(const OutputFolder& run, bool overwrite) {
  if (has_nothing(run)) return;
  int error = 0;
  names_in(run, error);
  if (error != 0) refuse(run, "cannot be looked into: " + words_of_error(error));
  if (!overwrite) {
    refuse(run,
           "is not empty; choose another directory, or give --resume to go on with the run in it, --overwrite to "
           "replace it");
  }
  if (!holds_run(run.path())) {
    refuse(run, "holds files, but no run that --overwrite could replace; choose another directory");
  }
}

// A directory with the name of one of eave's files belongs to another program, and so does its content.
void require_no_directories(const OutputFolder& run) {
  for (const OutputPath& file : files_of_run(run)) {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(file.string(), error))) continue;
    refuse(run, "holds a directory " + fs::path(file.string()).filename().string() +
                    " where eave writes a file; move it away, or choose another directory");
  }
}

void remove_all(const std::vector<OutputPath>& files, const std::string& what) {
  for (const OutputPath& file : files) {
    if (remove_tree(file)) continue;
    throw Error(ExitCode::kCannotCreate, what + ": cannot remove " + file.string() + ": " + words_of_error(errno));
  }
}

// Whether a program with a training loop of its own made the run. It keeps its model itself.
bool is_of_program(const fs::path& path) {
  try {
    return read_config(path / "config.json").contains("program");
  } catch (const Error&) {
    return false;
  }
}

// The last line of metrics.jsonl as JSON; not an object if that line is none.
Json last_object(const fs::path& path) {
  constexpr std::size_t kMost = 4096;
  return parse_json_or_discard(last_line(path / kMetricsFile, kMost));
}

}  // namespace

bool holds_run(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / kMetricsFile, error);
}

std::vector<fs::path> runs_below(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (holds_run(entry->path())) found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

bool is_file_of_run(const fs::path& path) {
  const std::string name = path.filename().string();
  return (name == kMetricsFile || name == kRunLock || std::ranges::find(kRunFiles, name) != kRunFiles.end()) &&
         holds_run(path.parent_path());
}

void require_run_files(const fs::path& path) {
  for (const char* name : {"config.json", kMetricsFile, kSummaryFile, kModel}) require_regular(path / name);
}

void create_run_directory(const OutputFolder& run, bool overwrite) {
  const std::string what = "--run-dir " + run.path().string();
  make_named_directory(run.named(), what);
  if (!run.chosen().empty()) make_directory(run);
  // has_nothing comes first. If it sees files of a run that begins here meanwhile, holds_run then finds that run, and
  // its lock decides.
  if (has_nothing(run) || holds_run(run.path())) return;
  require_free(run, overwrite);
}

std::string why_no_directory_of_run(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return "";
  if (fs::is_regular_file(status)) {
    const fs::path above = path.has_parent_path() ? path.parent_path() : fs::path(".");
    return "it is a file; give the run's directory" + (holds_run(above) ? ", " + above.string() : "");
  }
  if (!fs::exists(fs::symlink_status(path, error))) return "there is no such directory; check the path";
  return why_no_file(path);
}

std::string why_no_single_run(const fs::path& path) {
  const std::string why = why_no_directory_of_run(path);
  if (!why.empty() || holds_run(path)) return why;
  const std::vector<fs::path> runs = runs_below(path);
  return runs.empty() ? "" : "it is a directory of runs; name a run in it, such as " + runs.front().string();
}

void refuse_link_of_checkpoints(const OutputFolder& run) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(run.path() / kCheckpoints, error);
  if (!fs::exists(status) || fs::is_directory(status)) return;
  if (!fs::is_symlink(status))
    refuse(run,
           "it has a file named 'checkpoint' where the directory of checkpoints would be; move the file, or choose "
           "another run directory");
  const fs::path link = run.path() / kCheckpoints;
  refuse(run, "its 'checkpoint' is a symbolic link, and eave writes no checkpoints through a link. " +
                  (fs::exists(link, error) ? "Give --checkpoint-dir " + fs::canonical(link, error).string() +
                                                 " to keep this run's checkpoints there"
                                           : "It leads to " + fs::read_symlink(link, error).string() +
                                                 ", which is not there: mount that disk if it is one, and give that "
                                                 "directory to --checkpoint-dir; or remove the link"));
}

void require_writable(const fs::path& path, const std::string& what) {
  // Only permissions are checked. Another host may see a new directory some seconds late, so a missing one is no error.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0 || errno == ENOENT) return;
  throw Error(ExitCode::kCannotCreate, what + ": cannot be written to: " + words_of_error(errno) +
                                           "; every rank writes its part of a checkpoint there (--checkpoint off: "
                                           "none)");
}

// The new run would seem to have the checkpoints of the former one. eave deletes nothing through a link.
void refuse_linked_checkpoints(const OutputFolder& run) {
  if (!is_link(run / kCheckpoints)) return;
  const fs::path link = run.path() / kCheckpoints;
  std::error_code error;
  for (fs::directory_iterator each(link, error), end; !error && each != end; each.increment(error)) {
    if (!each->path().filename().string().starts_with("step-")) continue;
    refuse(run, "its 'checkpoint' is a symbolic link to " + fs::canonical(link, error).string() +
                    ", which holds checkpoints of the run that this one replaces, and eave deletes nothing through a "
                    "link; remove the link or these checkpoints");
  }
}

void prepare_run_directory(const OutputFolder& run, bool overwrite) {
  require_free(run, overwrite);
  require_no_directories(run);
  refuse_linked_checkpoints(run);
  const std::string what = "--run-dir " + run.path().string();
  if (!is_link(run / kCheckpoints)) remove_checkpoints(run.below(kCheckpoints), what);
  remove_all(files_of_run(run), what);
  write_file_atomically(run / kMetricsFile, "");
}

void remove_checkpoints(const OutputFolder& checkpoints, const std::string& what) {
  std::vector<OutputPath> files;
  for (const std::string& name : names_of(checkpoints)) {
    if (name.starts_with("step-")) files.push_back(checkpoints / name);
  }
  remove_all(files, what);
}

bool holds_checkpoints(const OutputFolder& run) {
  const std::vector<std::string> names = names_of(run.below(kCheckpoints));
  return std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("step-"); });
}

std::int64_t recorded_steps(const fs::path& run) {
  constexpr std::string_view kType = R"({"type":"step",)", kStep = R"("step":)";
  std::int64_t steps = 0;
  try {
    LineReader lines(run / kMetricsFile);
    for (std::string_view line; lines.next(line);) {
      const std::size_t at = line.starts_with(kType) ? line.find(kStep, kType.size() - 1) : line.npos;
      std::int64_t step = 0;
      if (at != line.npos) std::from_chars(line.data() + at + kStep.size(), line.data() + line.size(), step);
      steps = std::max(steps, step);
    }
  } catch (const Error&) {
    // A file that is missing or damaged has no more.
  }
  return steps;
}

RunState state_of_run(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / kSummaryFile, error) && (fs::exists(path / kModel, error) || is_of_program(path)))
    return RunState::kFinished;
  if (!fs::exists(path / kMetricsFile, error)) return RunState::kNone;
  const Json line = last_object(path);
  const bool has_failed = line.is_object() && line.contains("type") && line["type"] == "failure";
  const bool has_diverged =
      has_failed && line.contains("code") && line["code"] == static_cast<int>(ExitCode::kDiverged);
  return has_diverged ? RunState::kDiverged : RunState::kBegun;
}

std::string failure_of_run(const fs::path& path) {
  const Json line = last_object(path);
  if (!line.is_object() || !line.contains("message") || !line["message"].is_string()) return "";
  return line["message"];
}

std::string describe_failed_end(int code, const std::string& message) {
  return (code == static_cast<int>(ExitCode::kLeftOnRequest) ? "" : "failed: ") + message;
}

std::string failed_end_of_run(const fs::path& path) {
  const std::string message = failure_of_run(path);
  if (message.empty()) return "";
  const Json line = last_object(path);
  const bool has_code = line.contains("code") && line["code"].is_number_integer();
  return describe_failed_end(has_code ? line["code"].get<int>() : 0, message);
}

}  // namespace eave
