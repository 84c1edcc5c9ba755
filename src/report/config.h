// config.json: every resolved setting of a run, option name to text, and the number of its format.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/output_path.h"

namespace eave {

// Throws Error(kBadData) when the file is no such thing, kInputMissing.
std::map<std::string, std::string> read_config(const std::filesystem::path& path);

void write_config(const OutputPath& path, const std::map<std::string, std::string>& config);

// The text of a setting; "" where it is not set.
std::string setting_in(const std::map<std::string, std::string>& config, const std::string& name);

}  // namespace eave
