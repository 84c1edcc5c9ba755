// The grid of a comparison of --program, and what each of its runs finds in its environment.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <set>
#include <utility>

#include "app/compare/program_runs.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/options/method_checks.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/check.h"
#include "eave/communicator.h"
#include "eave/job.h"
#include "report/text/terminal.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

void refuse_other_options(const OptionValues& own, const Settings& of_train) {
  if (!of_train.empty()) {
    throw Error(ExitCode::kUsage,
                "--" + of_train.front().first +
                    " is an option of eave train: put options of your program inside --program \"...\", and options "
                    "of a method behind its name, as in easgd:tau=10");
  }
  if (own.given("side-by-side")) refuse_option(own, "side-by-side", "has no effect with --program");
}

// The options of a method that eave.Averager takes beside those of the method itself.
const std::set<std::string>& options_of_averager() {
  static const std::set<std::string> kOptions = [] {
    std::set<std::string> options = {
        "compression",      "limit-step",         "momentum",     "nesterov", "on-nonfinite", "nonfinite-limit",
        "on-replica-fault", "replica-hash-every", "weight-decay", "device",   "gpu",          "plugin"};
    for (const CodecKind& codec : codec_kinds())
      for (const OptionSpec& option : codec.options) options.insert(option.name);
    return options;
  }();
  return kOptions;
}

// Refuses options of eave train that a program would ignore or, in its first run of this method, refuse.
void refuse_options_of_train(const Method& method) {
  const CommunicatorKind& kind = find_kind(communicator_kinds(), method.communicator);
  for (const auto& [name, value] : method.options) {
    if (options_of_averager().contains(name)) continue;
    if (std::ranges::find(kind.options, name, &OptionSpec::name) != kind.options.end()) continue;
    throw Error(ExitCode::kUsage, name + "=" + value + " is no option of " + method.communicator +
                                      " in a program of your own: put what concerns the program inside --program "
                                      "\"...\"");
  }
}

// Refuses what an averager refuses (src/c/averager_options.cpp), and eave train does not.
void refuse_without_effect_in_program(const Method& method, const OptionValues& values) {
  const CommunicatorTraits& traits = find_kind(communicator_kinds(), method.communicator).traits;
  const auto refuse_given = [&](const char* name, bool is_refused, const std::string& why) {
    if (is_refused && has_setting(method.options, name)) refuse_option(values, name, why);
  };
  refuse_given("center-ranks", true, "has no effect in a program of your own: every rank trains");
  refuse_given("replay", true, "repeats a run of eave train; async-order=round-robin makes a program repeatable");
  if (has_setting(method.options, "worker-momentum"))
    refuse_given("worker-momentum", values.text("worker-momentum") != "local",
                 "has no effect in a program of your own: eave does not reach the vectors of its optimizer");
  refuse_given("weight-decay", traits.uses_optimizer, "has no effect: weight decay is the optimizer's, which is yours");
  refuse_given("momentum", !traits.uses_optimizer && values.real("momentum") != 0,
               "has no effect: " + method.communicator + " moves the parameters itself; give it center-momentum");
  refuse_given("nonfinite-limit", values.text("on-nonfinite") == "abort", "has no effect with on-nonfinite=abort");
}

// Refuses the values that only the method's `make` refuses. Nobody knows yet on which hosts the ranks will be, so it
// refuses only what it would both on one host and on a host for each rank.
void refuse_values_of_method(const CommunicatorKind& kind, const OptionValues& values, int ranks) {
  const auto has = [&](const char* name) { return values.entries().contains(name) && values.given(name); };
  // Only the rate tells whether these two agree.
  if (!has("lr") && has("rho") && (has("alpha") || has("beta"))) return;
  std::exception_ptr refusal;
  find_kind(transport_kinds(), "loopback").run(1, [&](Transport& alone) {
    std::vector<std::string> apart;
    for (int rank = 0; rank < ranks; ++rank) apart.push_back("host " + std::to_string(rank));
    const std::vector<std::string> together(apart.size(), "host");
    for (const auto& hosts : {together, apart}) {
      try {
        check_method(kind, values, values.real("lr"), alone, hosts);
        refusal = nullptr;
        return;
      } catch (const Error&) {
        if (!refusal) refusal = std::current_exception();
      }
    }
  });
  if (refusal) std::rethrow_exception(refusal);
}

// Lets train's own command line and the method itself judge the options of each method.
void check_methods(const Grid& grid) {
  const CommandLine line = train_command_line();
  const char* const no_environment[] = {nullptr};
  std::vector<CellSettings> cells;
  for (const RunGroup& group : grid.groups) {
    const CommunicatorKind& kind = find_kind(communicator_kinds(), group.method.communicator);
    Words words = {"--communicator=" + group.method.communicator};
    for (const auto& [name, value] : group.method.options) words.push_back("--" + name + "=" + value);
    try {
      for (const std::string& rate : group.rates) {
        Words with_rate = words;
        if (!rate.empty()) with_rate.push_back("--lr=" + rate);
        const OptionValues values = line.parse(with_rate, no_environment);
        values.real("lr");
        refuse_options_of_train(group.method);
        refuse_useless_replica_checks(values, kind.traits, group.ranks);
        cells.push_back({group.label(), group.ranks, line.config_in_force(values)});
        cells.back().in_force["batch"] = group.batch;
        refuse_without_effect_in_program(group.method, values);
        count_workers(kind, values, group.ranks);
        refuse_values_of_method(kind, values, group.ranks);
      }
    } catch (const Error& error) {
      throw with_front(group.label() + ": ", error, error.code());
    }
  }
  refuse_equal_runs(cells);
}

// "steps" and "600", or "seconds" and "60".
std::pair<std::string, std::string> length_of(const OptionValues& own) {
  const std::string budget = budget_of(own);
  const std::string value = budget.substr(budget.find('=') + 1);
  if (budget.starts_with("steps")) return {"STEPS", std::to_string(*read_integer(value).value)};
  return {"SECONDS", format("%.9g", *read_seconds(value).value)};
}

}  // namespace

Grid read_program_grid(const OptionValues& own, const Settings& of_train) {
  refuse_other_options(own, of_train);
  Grid grid = read_grid(own, {}, std::max(most_ranks(own), 2));
  if (!own.given("batch")) {
    for (RunGroup& group : grid.groups) group.batch.clear();
  }
  const Words command = words_of_command(own, "program");
  grid.settings = {{"program", shell_text(command)}};
  if (const std::string script = identity_of_script(command); !script.empty())
    grid.settings.emplace_back(kScriptSetting, script);
  if (own.has("budget")) grid.settings.emplace_back("budget", budget_of(own));
  check_methods(grid);
  return grid;
}

Settings variables_of_run(const Grid& grid, const Cell& cell, const OptionValues& own) {
  const RunGroup& group = grid.groups[cell.group];
  const std::filesystem::path directory = std::filesystem::absolute(own.text("output")) / cell.name;
  Settings variables = {{"EAVE_RUN_DIR", directory.lexically_normal().string()},
                        {"EAVE_PROGRAM_COMMUNICATOR", group.method.label()},
                        {"EAVE_PROGRAM_SEED", std::to_string(cell.seed)}};
  if (!cell.rate.empty()) variables.emplace_back("EAVE_PROGRAM_LR", cell.rate);
  if (!group.batch.empty()) variables.emplace_back("EAVE_PROGRAM_BATCH", group.batch);
  if (own.has("budget")) {
    const auto [unit, number] = length_of(own);
    variables.emplace_back("EAVE_PROGRAM_" + unit, number);
  }
  return variables;
}

}  // namespace eave
