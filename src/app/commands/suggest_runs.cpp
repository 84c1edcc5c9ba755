#include <algorithm>
#include <tuple>

#include "app/commands/planned_network.h"
#include "app/commands/suggest_parts.h"
#include "base/options/quantities.h"
#include "eave/check.h"
#include "report/compare/tuned_options.h"
#include "report/read/run_reader.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// The default of a method's option; "" if it has none.
std::string default_of(const std::string& communicator, const std::string& option) {
  const CommunicatorKind* const kind = find_method(communicator);
  if (kind == nullptr) return "";
  const auto found = std::ranges::find(kind->options, option, &OptionSpec::name);
  return found == kind->options.end() ? "" : found->default_text;
}

// The options that a person tunes beside tau, if they differ from their defaults.
std::map<std::string, std::string> options_beside_tau(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> names = {"beta"};  // beta gives alpha
  for (const TunedOption& option : tuned_options()) names.emplace_back(option.name);
  std::map<std::string, std::string> options;
  for (const std::string& name : names) {
    const std::string text = setting_in(settings, name);
    const bool is_usual = text.empty() || is_same_value(text, default_of(setting_in(settings, "communicator"), name));
    if (name != "tau" && !is_usual) options[name] = text;
  }
  return options;
}

SuggestRun read_suggest_run(const fs::path& directory) {
  SuggestRun run{directory.string(), {}, std::nullopt};
  try {
    run.record = read_run(directory);
  } catch (const Error& error) {
    throw error_of_run(directory, error);
  }
  run.options = options_beside_tau(run.record.settings);
  run.waits_with = waits_of(run.record.settings);
  if (run.record.end == RunEnd::kDiverged) return run;
  run.plan = read_plan_run(directory, exchange_pattern_of);
  return run;
}

void add_runs(const fs::path& directory, SuggestRuns& all) {
  if (const std::string why = why_no_directory_of_run(directory); !why.empty())
    throw Error(ExitCode::kInputMissing, directory.string() + ": " + why + "; expected a run's directory");
  if (holds_run(directory)) {
    all.runs.push_back(read_suggest_run(directory));
    return;
  }
  const std::vector<fs::path> below = runs_below(directory);
  if (below.empty())
    throw Error(ExitCode::kInputMissing,
                directory.string() +
                    ": holds no run (metrics.jsonl is missing); give the --run-dir of eave train, the --output "
                    "of eave compare, or the directory of an eave.Run");
  for (const fs::path& each : below) {
    try {
      all.runs.push_back(read_suggest_run(each));
    } catch (const Error& error) {
      all.left_out.push_back("left out " + std::string(error.what()));
    }
  }
}

// The facts that runs must share: model, data, number of parameters, metric.
void require_one_model(const std::vector<SuggestRun>& runs) {
  const SuggestRun& first = runs.front();
  const auto require = [&](const SuggestRun& run, const char* what, const std::string& ours,
                           const std::string& theirs) {
    if (ours == theirs) return;
    throw Error(ExitCode::kUsage, first.name + " and " + run.name + " have different " + what + " (" +
                                      ours.substr(0, 80) + ", " + theirs.substr(0, 80) +
                                      "); give runs of one training");
  };
  for (const SuggestRun& run : runs) {
    for (const auto& [setting, what] : {std::pair("model", "models"), std::pair("data", "data")})
      require(run, what, setting_in(first.record.settings, setting), setting_in(run.record.settings, setting));
    require(run, "metrics", first.record.metric.name, run.record.metric.name);
    // A dataset of files may have had others. Old runs, and programs of a person's own, may not say what they had.
    const std::string &ours = first.record.data_identity, &theirs = run.record.data_identity;
    if (!ours.empty() && !theirs.empty() && ours != theirs) {
      throw Error(ExitCode::kUsage, first.name + " and " + run.name +
                                        " trained on different data: other files, another part held out, or another "
                                        "vocabulary or context; give runs of one training");
    }
  }
}

}  // namespace

SuggestRuns read_suggest_runs(const std::vector<fs::path>& directories) {
  SuggestRuns all;
  for (const fs::path& directory : directories) add_runs(directory, all);
  if (all.runs.empty()) throw Error(ExitCode::kBadData, all.left_out.front());
  require_one_model(all.runs);
  const auto weight = [](const SuggestRun& run) {
    return run.plan ? std::tuple(run.plan->workers, run.plan->steps) : std::tuple(0, std::int64_t{0});
  };
  const auto basis = std::ranges::max_element(all.runs, {}, weight);
  if (!basis->plan)
    throw Error(ExitCode::kBadData, basis->name + ": the run diverged (" + basis->record.why +
                                        "), and no other run is given; give one that trained");
  all.basis = static_cast<std::size_t>(basis - all.runs.begin());
  return all;
}

}  // namespace eave
