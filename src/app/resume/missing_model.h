// Says why a folder has no model, or no summary: its run has not ended, or its weights are in another format.
#pragma once

#include <filesystem>
#include <string>

namespace eave {

// Throws Error(kInputMissing) if the run in `directory` has not ended and so has no `file` yet, such as "summary.json".
// The message says what its checkpoints are good for.
void require_end_of_run(const std::filesystem::path& directory, const std::string& file);

// What helps a person whose run has not ended: "start its program again: after averager.load(), …".
std::string remedy_for_run(const std::filesystem::path& run);

// The same for a folder's model; also if the folder has weights that PyTorch wrote, and no model.safetensors.
void require_model_in(const std::filesystem::path& folder);

// Throws Error(kBadData) if `place` is the config.json beside a model: the model is its folder.
void refuse_config_of_model(const std::filesystem::path& place);

}  // namespace eave
