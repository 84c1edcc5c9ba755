// Implements `eave train`: reads the options, starts the ranks, and trains.
#include <cstdio>

#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/main/plugins.h"
#include "app/main/rank_consistency.h"
#include "app/options/shared_options.h"
#include "app/resume/resumption.h"
#include "app/run/run_settings.h"
#include "app/run/training_run.h"
#include "eave/agreement.h"

namespace eave {

int train_command(const std::vector<std::string>& words, const char* const* environment) {
  // Before the run can leave, too: a request then takes effect before its first step.
  hear_sigusr1();
  if (const int code = load_plugins(words, environment); code != 0) return code;
  const CommandLine line = train_command_line();
  OptionValues values;
  int ranks = 0;
  const auto read = [&] {
    values = parse_with_plugins(line, words, environment);
    require_loaded(values);
    ranks = ranks_in_process(values);
  };
  return run_command(words, line.help(), read, [&] {
    if (values.flag("print-config")) {
      return run_once([&] {
        print_warning(line.warn_of_variables(environment));
        std::fputs(line.describe(values).c_str(), stdout);
      });
    }
    return run_ranks(values.text("transport"), ranks, [&](Transport& transport) {
      require_same_start(transport, settings_of_rank("train", line, values, "progress"));
      if (transport.rank() == 0) print_warning(line.warn_of_variables(environment));
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
