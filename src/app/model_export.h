// A model written for other programs, as options say.
#pragma once

#include <string>
#include <vector>

#include "app/model_file.h"
#include "eave/options.h"

namespace eave {

// --npy DIR, --safetensors FILE, --layout.
std::vector<OptionSpec> export_options();
// Throws Error(kUsage) unless one place is given.
void check_export(const OptionValues& values);

// The graph of a model that a file describes. Throws Error(kBadData) naming the file: a model text in a file is as
// little to be trusted as the rest of it.
Graph graph_of(const ModelDescription& model, const std::filesystem::path& file);

// Writes it and says so on stdout, `before` first. Throws Error: kCannotCreate, also where something is there already;
// kInputOutput.
void export_model(const ModelDescription& model, const Graph& graph, const ModelArenas& arenas,
                  const OptionValues& values, const std::string& before = "");

}  // namespace eave
