#include "app/resume/missing_model.h"

#include <map>
#include <system_error>
#include <vector>

#include "app/resume/checkpoint_location.h"
#include "base/files/directory_lock.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"
#include "report/read/run_reader.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = "model.safetensors";

// 0 if there is none. Throws Error if its place cannot be read.
std::int64_t newest_checkpoint_of(const fs::path& run) {
  const std::vector<std::int64_t> steps = committed_steps(find_checkpoints_of(run, ""));
  return steps.empty() ? 0 : steps.back();
}

std::map<std::string, std::string> config_of(const fs::path& run) try {
  return read_config(run / "config.json");
} catch (const Error&) {
  return {};
}

// Says what a person can do with the newest checkpoint; "" if there is none. Throws Error if its place cannot be read.
std::string describe_checkpoint(const fs::path& run) {
  const std::int64_t step = newest_checkpoint_of(run);
  if (step == 0) return "";
  const std::string data = setting_in(config_of(run), "data");
  return "eave checkpoint export " + run.string() + " writes the model of its newest checkpoint, step " +
         std::to_string(step) +
         (data == "text" || data == "tokens"
              ? ", and eave generate " + run.string() + " --step last writes text with it"
              : "");
}

// " failed: no space left", " left on request after step 7"
std::string describe_end(const fs::path& run, RunState state) {
  if (const auto owner = living_owner(run / kRunLock))
    return " is still running" + (owner->host.empty() ? "" : " (" + owner->describe() + ")");
  if (state == RunState::kDiverged) return " diverged";
  const std::string end = failed_end_of_run(run);
  if (end.empty()) return " has not ended";
  return " " + (end.starts_with("failed") ? end : end.substr(0, end.find(';')));  // describe_remedy says what to do
}

// Says what a person can do if a run has not ended.
std::string describe_remedy(const fs::path& run, RunState state) try {
  if (living_owner(run / kRunLock)) return "eave watch " + run.string() + " follows it";
  const std::map<std::string, std::string> config = config_of(run);
  const bool has_diverged = state == RunState::kDiverged, is_of_python = config.contains("python");
  if (has_diverged && (is_of_python || config.contains("program")))
    return "train anew, with a smaller learning rate; in this directory with overwrite=" +
           std::string(is_of_python ? "True" : "on");
  if (is_of_python) return "start its program again: after averager.load(), eave.Run with resume=True goes on with it";
  if (config.contains("program"))
    return "start its program again: after eave_load, eave_run_open with resume=on goes on with it";
  const std::string newest = describe_checkpoint(run);
  if (newest.empty())
    return has_diverged ? "it has no checkpoint; train anew, with a smaller --lr"
                        : "it has no checkpoint; eave train with the same options and --overwrite begins it anew";
  return newest + (has_diverged ? "" : "; eave train with the same options and --resume auto goes on with it");
} catch (const Error& error) {
  return error.what();
}

// A resumed run removes the summary, and keeps the model until it has another.
[[noreturn]] void refuse_outdated_model(const fs::path& run) {
  std::string checkpoint;
  try {
    checkpoint = describe_checkpoint(run);
  } catch (const Error& error) {  // such as the disk of --checkpoint-dir is not mounted
    checkpoint = error.what();
  }
  throw Error(ExitCode::kInputMissing, "the run in " + run.string() + describe_end(run, state_of_run(run)) +
                                           ", so its " + kModel + " may be older than its last steps; " +
                                           (checkpoint.empty() ? "" : checkpoint + "; ") + "name " +
                                           (run / kModel).string() + " to take that file all the same");
}

}  // namespace

bool has_outdated_model(const fs::path& run) {
  std::error_code error;
  if (!holds_run(run) || !fs::exists(run / kModel, error)) return false;
  if (fs::exists(run / "summary.json", error) || has_end(run)) return false;
  const std::map<std::string, std::string> config = config_of(run);
  return !config.contains("program") && !config.contains("python");
}

std::string remedy_for_run(const fs::path& run) { return describe_remedy(run, state_of_run(run)); }

void require_end_of_run(const fs::path& directory, const std::string& file) {
  std::error_code error;
  if (!holds_run(directory) || fs::exists(fs::symlink_status(directory / file, error))) return;
  const RunState state = state_of_run(directory);
  if (state == RunState::kFinished || fs::exists(directory / "summary.json", error)) return;
  throw Error(ExitCode::kInputMissing, "the run in " + directory.string() + describe_end(directory, state) +
                                           ", so it has no " + file + "; " + describe_remedy(directory, state));
}

void refuse_config_of_model(const fs::path& place) {
  std::error_code error;
  const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
  if (place.filename() != "config.json" || !fs::exists(folder / kModel, error)) return;
  throw Error(ExitCode::kBadData,
              place.string() + " describes the model beside it; name its folder, " + folder.string());
}

void require_model_in(const fs::path& folder) {
  require_end_of_run(folder, kModel);
  if (has_outdated_model(folder)) refuse_outdated_model(folder);
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder / kModel, error))) return;
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!fs::exists(folder / name, error)) continue;
    throw Error(ExitCode::kInputMissing,
                "no file " + (folder / kModel).string() + "; the folder has " + name +
                    ", which PyTorch wrote: load the folder with from_pretrained of transformers and write it with "
                    "save_pretrained, or save its tensors with save_file of safetensors.torch");
  }
}

}  // namespace eave
