// Says why a folder has no model, or no summary: its run has not ended, or its weights are in another format.
#pragma once

#include <filesystem>
#include <string>

namespace eave {

// Throws Error(kInputMissing) if the run in `directory` has not ended and so has no `file` yet, such as "summary.json".
// The message says what its checkpoints are good for.
void require_end_of_run(const std::filesystem::path& directory, const std::string& file);

// Says what a person can do if a run has not ended: "start its program again: after averager.load(), …".
std::string remedy_for_run(const std::filesystem::path& run);

// Whether the model in `run` may be that of an earlier end: the run was resumed since, and has not ended again. A full
// disk may keep summary.json from being written; then metrics.jsonl says that the run has ended. A program with a loop
// of its own writes models when it likes, so those never count as outdated.
bool has_outdated_model(const std::filesystem::path& run);

// Throws Error(kInputMissing) if a folder has no model, or if it holds a run that has not ended or whose model is
// outdated. The message says what helps, also if the folder has weights that PyTorch wrote.
void require_model_in(const std::filesystem::path& folder);

// Throws Error(kBadData) if `place` is the config.json beside a model: the model is its folder.
void refuse_config_of_model(const std::filesystem::path& place);

}  // namespace eave
