// Implements `eave train`: reads the options, starts the ranks, and trains.
#include <cstdio>

#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/main/leave_signals.h"
#include "app/main/plugins.h"
#include "app/main/rank_consistency.h"
#include "app/options/network_options.h"
#include "app/resume/resumption.h"
#include "app/run/run_settings.h"
#include "app/run/training_run.h"
#include "base/printable.h"
#include "eave/agreement.h"

namespace eave {
namespace {

// The settings that ranks must agree on. How the run is shown concerns only rank 0.
RankSettings settings_of_rank(const CommandLine& line, const OptionValues& values) {
  RankSettings settings{{"command", "train"}};
  for (const auto& [name, value] : line.config_in_force(values)) {
    if (!options_of_files().contains(name) && name != "progress") settings["--" + name] = value;
  }
  return settings;
}

void warn(const std::string& text) {
  if (!text.empty()) std::fprintf(stderr, "eave: warning: %s\n", printable(text).c_str());
}

}  // namespace

int train_command(const std::vector<std::string>& words, const char* const* environment) {
  // Before the run can leave, too: a request then takes effect before its first step.
  hear_sigusr1();
  if (const int code = load_plugins(words, environment); code != 0) return code;
  const CommandLine line = train_command_line();
  OptionValues values;
  int ranks = 0;
  const auto read = [&] {
    values = line.parse(words, environment);
    require_loaded(values);
    ranks = ranks_in_process(values);
  };
  return run_command(words, line.help(), read, [&] {
    if (values.flag("print-config")) {
      return run_once([&] {
        warn(line.warn_of_variables(environment));
        std::fputs(line.describe(values).c_str(), stdout);
      });
    }
    return run_ranks(values.text("transport"), ranks, [&](Transport& transport) {
      require_same_start(transport, settings_of_rank(line, values));
      if (transport.rank() == 0) warn(line.warn_of_variables(environment));
      if (has_nothing_to_do(transport, line, values)) return;
      try {
        run_training(transport, line, values);
      } catch (const AgreedError& error) {
        // The same command, started at the same time, may have finished the run in the meantime.
        if (error.code() != ExitCode::kUsage || !has_nothing_to_do(transport, line, values)) throw;
      }
    });
  });
}

}  // namespace eave
