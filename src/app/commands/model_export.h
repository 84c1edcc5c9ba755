// Writes a model for other programs, as the export options say.
#pragma once

#include <string>
#include <vector>

#include "app/resume/model_file.h"
#include "eave/options.h"

namespace eave {

// --npy DIR, --safetensors FILE, --layout.
std::vector<OptionSpec> export_options();
// Throws Error(kUsage) unless exactly one of --npy and --safetensors is given.
void check_export(const OptionValues& values);

// Writes the model and prints a line about it, after `before`, on standard output. The line goes to standard error if
// the model itself goes to standard output. Throws Error: kCannotCreate (also if the target exists), kInputOutput.
void export_model(const ModelDescription& model, const Graph& graph, const ModelArenas& arenas,
                  const OptionValues& values, const std::string& before = "");

}  // namespace eave
