// Reads weights in several files, as Hugging Face's save_pretrained writes large ones: model.safetensors.index.json
// names the file of each array.
#pragma once

#include <filesystem>

#include "base/formats/safetensors.h"

namespace eave {

// Whether the name is that of an index: it ends with ".safetensors.index.json".
bool is_safetensors_index(const std::filesystem::path& path);

// Reads all parts, which lie beside the index. The result's `path` is the index. Each array of the index must be in the
// part that it names, and each array of a part in the index. Parts may not contradict each other in their metadata.
// Throws as read_safetensors; Error(kBadData) also if the index is not one, or does not fit its parts, or if parts
// contradict each other; Error(kInputMissing) if a part is missing.
SafetensorsFile read_safetensors_parts(const std::filesystem::path& index);

}  // namespace eave
