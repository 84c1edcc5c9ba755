#include "app/resume/missing_model.h"

#include <system_error>

#include "app/resume/checkpoint_location.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// 0 if there is none, or its place cannot be read.
std::int64_t newest_checkpoint_of(const fs::path& run) {
  try {
    const std::vector<std::int64_t> steps = committed_steps(find_checkpoints_of(run, ""));
    return steps.empty() ? 0 : steps.back();
  } catch (const Error&) {
    return 0;
  }
}

// What helps if a run has not ended.
std::string describe_remedy(const fs::path& run, RunState state) {
  const std::int64_t newest = newest_checkpoint_of(run);
  if (state == RunState::kDiverged && newest == 0) return "it has no checkpoint; train anew, with a smaller --lr";
  const std::string going_on =
      state == RunState::kDiverged ? "" : "eave train with the same options and --resume auto goes on with it";
  if (newest == 0) return "it has no checkpoint yet; " + going_on;
  return "eave checkpoint export " + run.string() + " writes the model of its newest checkpoint, step " +
         std::to_string(newest) + ", and eave generate " + run.string() + " --step last writes text with it" +
         (going_on.empty() ? "" : "; " + going_on);
}

}  // namespace

void require_end_of_run(const fs::path& directory, const std::string& file) {
  std::error_code error;
  if (!holds_run(directory) || fs::exists(fs::symlink_status(directory / file, error))) return;
  const RunState state = state_of_run(directory);
  if (state == RunState::kFinished) return;
  throw Error(ExitCode::kInputMissing, "the run in " + directory.string() +
                                           (state == RunState::kDiverged ? " diverged" : " has not ended") +
                                           ", so it has no " + file + "; " + describe_remedy(directory, state));
}

void require_model_in(const fs::path& folder) {
  constexpr const char* kModel = "model.safetensors";
  require_end_of_run(folder, kModel);
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
