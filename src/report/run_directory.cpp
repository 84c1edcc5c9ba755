#include "report/run_directory.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::array kRunFiles = {"config.json", "metrics.jsonl", "summary.json", "model.safetensors"};

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kCannotCreate, "--run-dir " + path.string() + ": " + why);
}

bool is_run_file(const fs::path& path) {
  return std::find(kRunFiles.begin(), kRunFiles.end(), path.filename().string()) != kRunFiles.end();
}

}  // namespace

void prepare_run_directory(const fs::path& path, bool overwrite) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) refuse(path, "is there already and is no directory");
  fs::create_directories(path, error);
  if (error) refuse(path, "cannot be created: " + error.message());
  if (!overwrite && !fs::is_empty(path, error)) {
    refuse(path, "is not empty; choose another directory, or give --overwrite to replace the run in it");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (is_run_file(entry.path())) fs::remove(entry.path(), error);
  }
  const fs::path probe = path / "metrics.jsonl";
  write_file_atomically(probe, "");
}

}  // namespace eave
