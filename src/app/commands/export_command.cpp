// Implements `eave export`: writes a run's model for PyTorch or NumPy.
#include "app/commands/model_export.h"
#include "app/commands/stored_model.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"

namespace eave {

CommandLine export_command_line() {
  CommandLine line(
      "usage: eave export MODEL --npy DIR | --safetensors FILE [--layout LAYOUT]\n\n"
      "Writes the model of a run for other programs. MODEL is a run directory, or a model.safetensors.");
  line.add_group("Output", export_options());
  return line;
}

namespace {

PathsAndValues read_export_request(const CommandLine& line, const std::vector<std::string>& words) {
  const PathsAndValues request =
      read_first_path(line, words, "MODEL", "no model given; expected MODEL --npy DIR or MODEL --safetensors FILE");
  check_export(request.values);
  return request;
}

void export_stored_model(const PathsAndValues& request) {
  const StoredModel model = read_stored_model(request.paths.front());
  export_model(model.description, model.graph, model.arenas, request.values);
}

}  // namespace

int export_command(const std::vector<std::string>& words, const char* const*) {
  return run_request(export_command_line(), words, read_export_request, export_stored_model);
}

}  // namespace eave
