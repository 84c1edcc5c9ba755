#include "report/run_directory.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "eave/check.h"
#include "report/event_file.h"
#include "report/json.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRunFiles = {"config.json", "summary.json", "model.safetensors", "exchanges.order", "trace.json"};

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kCannotCreate, "--run-dir " + path.string() + ": " + why);
}

bool has_nothing(const fs::path& path) {
  std::error_code error;
  return fs::is_empty(path, error);
}

// What an earlier run left here; files of others, also inside its checkpoint directory, stay.
std::vector<fs::path> files_of_run(const fs::path& path) {
  std::vector<fs::path> files;
  for (const char* name : kRunFiles) files.push_back(path / name);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path / "checkpoint", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step-") || name == "latest") files.push_back(entry.path());
  }
  // An overwritten run's curves are not to be mixed with those of its successor.
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kEventFile) && name.find(kEventFileOfEave) != std::string::npos) files.push_back(entry.path());
  }
  files.push_back(path / "metrics.jsonl");  // last: by it a run is known, also one that is half removed
  return files;
}

void remove_run(const fs::path& path) {
  if (!has_nothing(path) && !fs::exists(path / "metrics.jsonl")) {
    refuse(path, "holds files, but no run that --overwrite could replace; choose another directory");
  }
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

// Of a line of metrics.jsonl when the run goes on after `step`.
bool is_kept(const Json& line, std::int64_t step) {
  const std::string type = line.value("type", "");
  if (type == "end" || type == "failure") return false;
  const auto found = line.find("step");
  return found == line.end() || (found->is_number_integer() && found->get<std::int64_t>() <= step);
}

}  // namespace

void prepare_run_directory(const fs::path& path, bool overwrite) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) refuse(path, "is there already and is no directory");
  fs::create_directories(path, error);
  if (error) refuse(path, "cannot be created: " + error.message());
  if (!overwrite && !has_nothing(path)) {
    refuse(path,
           "is not empty; choose another directory, or give --resume to go on with the run in it, --overwrite to "
           "replace it");
  }
  remove_run(path);
  const fs::path probe = path / "metrics.jsonl";
  write_file_atomically(probe, "");
}

void reopen_run_directory(const fs::path& path, std::int64_t step) {
  const fs::path file = path / "metrics.jsonl";
  std::istringstream lines(read_file(file, std::size_t{1} << 36));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const Json object = Json::parse(line, nullptr, false);
    if (object.is_object() && is_kept(object, step)) kept += line + "\n";
  }
  write_file_atomically(file, kept);
  std::error_code error;
  fs::remove(path / "exchanges.order", error);  // of a shorter run; what goes on from here has none of its own
}

RunState state_of_run(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path / "summary.json", error)) return RunState::kFinished;
  if (!fs::exists(path / "metrics.jsonl", error)) return RunState::kNone;
  const Json line = Json::parse(last_line(path / "metrics.jsonl"), nullptr, false);
  const bool has_failed = line.is_object() && line.contains("type") && line["type"] == "failure";
  const bool has_diverged =
      has_failed && line.contains("code") && line["code"] == static_cast<int>(ExitCode::kDiverged);
  return has_diverged ? RunState::kDiverged : RunState::kBegun;
}

}  // namespace eave
