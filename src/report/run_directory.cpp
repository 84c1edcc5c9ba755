#include "report/run_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "base/files.h"
#include "base/json_nesting.h"
#include "eave/check.h"
#include "report/event_file.h"
#include "report/json.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCallsFile = "calls-rank-";  // by the watchdog, of a run that it has ended
constexpr std::array kRunFiles = {"config.json", "summary.json", "model.safetensors", "exchanges.order", "trace.json"};

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kCannotCreate, "--run-dir " + path.string() + ": " + why);
}

// What a run that ended while it began may leave: nothing of it is a result.
bool is_remnant(const fs::path& path) {
  const std::string name = path.filename();
  std::error_code error;
  if (name == "checkpoint") {
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      if (!entry.path().filename().string().ends_with(".partial")) return false;
    }
    return !error;
  }
  return name.starts_with(kRunLock) || name == "metrics.jsonl.partial" || name == "config.json.partial" ||
         name.starts_with(kCallsFile);
}

bool has_nothing(const fs::path& path) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (!is_remnant(entry.path())) return false;
  }
  return !error;
}

// What an earlier run left here; files of others, also inside its checkpoint directory, stay.
std::vector<fs::path> files_of_run(const fs::path& path) {
  std::vector<fs::path> files;
  for (const char* name : kRunFiles) files.push_back(path / name);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path / "checkpoint", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step-")) files.push_back(entry.path());
  }
  // An overwritten run's curves are not to be mixed with those of its successor.
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    const bool is_curve = name.starts_with(kEventFile) && name.find(kEventFileOfEave) != std::string::npos;
    if (is_curve || name.starts_with(kCallsFile)) files.push_back(entry.path());
  }
  files.push_back(path / "metrics.jsonl");  // last: by it a run is known, also one that is half removed
  return files;
}

void require_free(const fs::path& path, bool overwrite) {
  if (has_nothing(path)) return;
  if (!overwrite) {
    refuse(path,
           "is not empty; choose another directory, or give --resume to go on with the run in it, --overwrite to "
           "replace it");
  }
  if (!holds_run(path)) {
    refuse(path, "holds files, but no run that --overwrite could replace; choose another directory");
  }
}

void remove_run(const fs::path& path) {
  std::error_code error;
  for (const fs::path& file : files_of_run(path)) {
    fs::remove_all(file, error);
    if (error) refuse(path, "cannot remove " + file.filename().string() + ": " + error.message());
  }
}

// Its last line, or the end of that; "" where there is none.
std::string last_line(const fs::path& path) {
  constexpr std::streamoff kMost = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (size <= 0) return "";
  std::string text(static_cast<std::size_t>(std::min(size, kMost)), '\0');
  file.seekg(-static_cast<std::streamoff>(text.size()), std::ios::end);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

// In metrics.jsonl; no object where its last line is none.
Json last_object(const fs::path& path) {
  const std::string line = last_line(path / "metrics.jsonl");
  return is_too_nested(line) ? Json() : Json::parse(line, nullptr, false);
}

std::int64_t number_in(const Json& line, const char* name, std::int64_t other) {
  const auto found = line.find(name);
  if (found == line.end()) return other;
  return found->is_number_integer() ? found->get<std::int64_t>() : INT64_MAX;
}

bool is_kept(const Json& line, const KeptLines& kept) {
  const auto found = line.find("type");
  const std::string type = found != line.end() && found->is_string() ? found->get<std::string>() : "";
  if (type == "end" || type == "failure") return false;
  if (type == "evaluation" && kept.is_evaluated_again && number_in(line, "step", 0) == kept.step) return false;
  return kept.samples < 0 ? number_in(line, "step", 0) <= kept.step : number_in(line, "samples", 0) <= kept.samples;
}

}  // namespace

bool holds_run(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "metrics.jsonl", error);
}

void create_run_directory(const fs::path& path, bool overwrite) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) refuse(path, "is there already and is no directory");
  fs::create_directories(path, error);
  if (error) refuse(path, "cannot be created: " + error.message());
  // In this order: a run that begins there meanwhile makes its files before it is asked for, and its lock decides then.
  if (has_nothing(path) || holds_run(path)) return;
  require_free(path, overwrite);
}

void require_writable(const fs::path& path) {
  // Only what it says of itself: another host may see a directory that was just made some seconds later.
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0 || errno == ENOENT) return;
  const std::string why = std::generic_category().message(errno);
  refuse(path, "cannot be written to: " + why +
                   "; every rank writes its part of a checkpoint there (--checkpoint off: none)");
}

void prepare_run_directory(const fs::path& path, bool overwrite) {
  require_free(path, overwrite);
  remove_run(path);
  const fs::path probe = path / "metrics.jsonl";
  write_file_atomically(probe, "");
}

void reopen_run_directory(const fs::path& path, const KeptLines& kept_lines) {
  const fs::path file = path / "metrics.jsonl";
  std::istringstream lines(read_file(file, std::size_t{1} << 36));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (is_too_nested(line)) continue;
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_object() && is_kept(object, kept_lines)) kept += line + "\n";
  }
  // Of a shorter run; a summary says that the run has ended. What goes on from here has none of its own yet.
  std::error_code error;
  for (const char* name : {"summary.json", "exchanges.order", "trace.json"}) fs::remove(path / name, error);
  write_file_atomically(file, kept);
}

RunState state_of_run(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / "summary.json", error)) return RunState::kFinished;
  if (!fs::exists(path / "metrics.jsonl", error)) return RunState::kNone;
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

}  // namespace eave
