// config.json: every resolved setting of a run, option name to text.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace eave {

void write_config(const std::filesystem::path& path, const std::map<std::string, std::string>& config);

}  // namespace eave
