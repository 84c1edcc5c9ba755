#include "app/compare/compare_grid.h"
#include "base/options/option_values.h"
#include "eave/check.h"

namespace eave {
namespace {

bool comes_from_elsewhere(const OptionValues& given, const std::string& name) {
  return given.given(name) && given.entry(name).source != "command line";
}

void refuse_what_runs_are_given(const OptionValues& given) {
  for (const char* name : {"communicator", "seed", "run-dir", "overwrite", "resume"})
    if (comes_from_elsewhere(given, name))
      refuse_option(given, name, "a comparison sets it for each of its runs: leave it out");
  for (const char* name : {"extend-schedule", "allow-changed-plugin"})
    if (comes_from_elsewhere(given, name))
      refuse_option(given, name, "has no effect: a comparison begins each of its runs anew");
  if (given.flag("print-config"))
    refuse_option(given, "print-config", "has no effect in a comparison: give it to eave train");
  const std::string no_checkpoints = "has no effect: a comparison saves no checkpoints";
  if (given.given("checkpoint") && given.flag("checkpoint")) refuse_option(given, "checkpoint", no_checkpoints);
  for (const std::string& name : options_of_checkpoints())
    if (given.given(name)) refuse_option(given, name, no_checkpoints);
}

// The words of a budget would win over these options.
void refuse_other_lengths(const OptionValues& given, const OptionValues& own) {
  const std::string budget = budget_of(own);
  if (budget.empty()) return;
  for (const std::string& name : options_of_length()) {
    if (!comes_from_elsewhere(given, name)) continue;
    throw Error(ExitCode::kUsage,
                "--budget " + budget + " contradicts --" + name + " (" + given.entry(name).source + "); give one");
  }
}

}  // namespace

void take_other_sources(const OptionValues& given, OptionValues& own, Settings& of_train) {
  refuse_what_runs_are_given(given);
  refuse_other_lengths(given, own);
  for (const char* name : {"batch", "ranks"})
    if (comes_from_elsewhere(given, name) && !own.given(name))
      own.set(name, given.text(name), given.entry(name).source);
  for (const char* name : {"transport", "progress"})
    if (comes_from_elsewhere(given, name)) of_train.emplace_back(name, given.text(name));
}

}  // namespace eave
