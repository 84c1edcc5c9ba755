#include "report/run_directory.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/files.h"
#include "eave/check.h"
#include "report/json.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRunFiles = {"config.json", "metrics.jsonl", "summary.json", "model.safetensors", "checkpoint"};

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kCannotCreate, "--run-dir " + path.string() + ": " + why);
}

bool is_run_file(const fs::path& path) {
  return std::find(kRunFiles.begin(), kRunFiles.end(), path.filename().string()) != kRunFiles.end();
}

// Of a line of metrics.jsonl when the run goes on after `step`.
bool is_kept(const Json& line, std::int64_t step) {
  if (line.value("type", "") == "end") return false;
  const auto found = line.find("step");
  return found == line.end() || (found->is_number_integer() && found->get<std::int64_t>() <= step);
}

}  // namespace

void prepare_run_directory(const fs::path& path, bool overwrite) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) refuse(path, "is there already and is no directory");
  fs::create_directories(path, error);
  if (error) refuse(path, "cannot be created: " + error.message());
  if (!overwrite && !fs::is_empty(path, error)) {
    refuse(path,
           "is not empty; choose another directory, or give --resume to go on with the run in it, --overwrite to "
           "replace it");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (is_run_file(entry.path())) fs::remove_all(entry.path(), error);
  }
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
}

}  // namespace eave
