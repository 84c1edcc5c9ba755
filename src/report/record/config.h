// config.json holds the file format's number and every resolved setting of a run, as a map from option name to text.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/files/output_path.h"

namespace eave {

// Throws Error: kInputMissing (no file), kBadData (not a config.json).
std::map<std::string, std::string> read_config(const std::filesystem::path& path);

void write_config(const OutputPath& path, const std::map<std::string, std::string>& config);

// The text of a setting, or `otherwise` if it is not set.
std::string setting_in(const std::map<std::string, std::string>& config, const std::string& name,
                       const std::string& otherwise = "");

// The number in a setting; 0 if it is not set or not a plain number.
double number_in(const std::map<std::string, std::string>& config, const std::string& name);

// The --epochs of a run whose end another budget sets: eave compare --budget samples=, tokens=, time= or
// bytes=.
inline constexpr const char* kEndlessEpochs = "1000000";
// The budget that ends such a run, as an option and its value: {"stop-after-time", "60s"}. Nothing if --epochs is the
// run's length.
std::optional<std::pair<std::string, std::string>> budget_without_epochs(
    const std::map<std::string, std::string>& config);

}  // namespace eave
