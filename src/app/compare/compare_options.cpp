// The options of `eave compare`, and the grid of runs that they describe.
#include <algorithm>
#include <cmath>
#include <set>

#include "app/commands/report_runs.h"
#include "app/compare/compare_grid.h"
#include "app/compare/compare_widening.h"
#include "app/main/command_line.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "eave/check.h"
#include "eave/communicator.h"
#include "report/record/config.h"

namespace eave {
namespace {

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const CommunicatorKind& kind : communicator_kinds()) names.push_back(kind.name);
  return names;
}

// Options that the grid sets for each run.
const std::set<std::string>& grid_options() {
  static const std::set<std::string> kOptions = {"communicator", "seed", "run-dir", "overwrite", "resume"};
  return kOptions;
}

// Options that a method cannot have for itself.
bool is_of_all_methods(const std::string& option) {
  static const std::set<std::string> kOptions = {
      "allow-changed-plugin", "batch",        "checkpoint", "config",   "extend-schedule", "meet",
      "meet-limit",           "print-config", "ranks",      "transport"};
  return grid_options().contains(option) || kOptions.contains(option) || options_of_checkpoints().contains(option);
}

Method read_method(const std::string& text, const OptionValues& values) {
  const std::vector<std::string> parts = parts_of(text, ':', values, "communicators");
  Method method{parts.front(), {}};
  const std::vector<std::string> known = method_names();
  if (std::ranges::find(known, method.communicator) == known.end()) {
    refuse_option(values, "communicators",
                  "there is no '" + method.communicator + "'; expected some of " + comma_list(known) +
                      did_you_mean(method.communicator, known));
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string name(trimmed(parts[i].substr(0, equals)));
    const std::string value(equals == std::string::npos ? "" : trimmed(parts[i].substr(equals + 1)));
    if (name.empty() || value.empty()) {
      refuse_option(values, "communicators", "'" + parts[i] + "': expected option=value, as in easgd:tau=10:alpha=0.1");
    }
    if (is_of_all_methods(name)) {
      refuse_option(values, "communicators", "'" + parts[i] + "': --" + name + " is the same for all methods");
    }
    if (has_setting(method.options, name))
      refuse_option(values, "communicators", "'" + text + "': " + name + " is given twice");
    method.options.emplace_back(name, value);
  }
  return method;
}

constexpr int kMostRanks = 1 << 20, kLargestBatch = 1 << 24;

std::vector<int> ranks_in(const OptionValues& own, int ranks_of_job) {
  std::vector<int> counts;
  if (own.has("ranks")) {
    counts = integers_of(own, "ranks", 1, kMostRanks);
  } else {
    counts.push_back(ranks_of_job);
  }
  for (const int count : counts) {
    if (count <= ranks_of_job) continue;
    refuse_option(own, "ranks",
                  "this job has " + std::to_string(ranks_of_job) + "; start it with mpirun -np " +
                      std::to_string(*std::ranges::max_element(counts)));
  }
  if (std::ranges::find(counts, 1) == counts.end()) counts.push_back(1);
  std::ranges::sort(counts);
  return counts;
}

std::vector<Method> methods_in(const OptionValues& own) {
  std::vector<Method> methods;
  for (const std::string& each : list_of(own, "communicators")) methods.push_back(read_method(each, own));
  if (std::ranges::find(methods, "allreduce", &Method::communicator) == methods.end())
    methods.insert(methods.begin(), Method{"allreduce", {}});
  return methods;
}

void refuse_own_length(const Method& method, const OptionValues& own) {
  if (!own.has("budget")) return;
  for (const auto& [name, value] : method.options) {
    if (options_of_length().contains(name))
      refuse_option(own, "budget",
                    "contradicts " + name + "=" + value + " of " + method.communicator +
                        ": a budget is the same for all methods; give one");
  }
}

bool sends_nothing(const Method& method) {
  return find_kind(communicator_kinds(), method.communicator).traits.exchanges == ExchangePattern::kNone;
}

// Takes the learning rate from the method's own options, and removes it there.
std::string take_rate(Method& method) {
  const auto found = std::ranges::find(method.options, "lr", &Settings::value_type::first);
  if (found == method.options.end()) return "";
  const std::string rate = found->second;
  method.options.erase(found);
  return rate;
}

struct Budget {
  std::string kind, value;  // both "" if no budget is given
};

bool is_number(const std::string& kind) { return kind == "samples" || kind == "tokens" || kind == "steps"; }

// The option of eave train that ends a run by a budget of this kind.
std::string option_of_budget(const std::string& kind) {
  if (kind == "epochs") return kind;
  return (is_number(kind) ? "max-" : "stop-after-") + kind;
}

void require_value_of_budget(const Budget& budget, const OptionValues& own) {
  const auto require = [&](const auto& reading) {
    if (!reading.value) refuse_option(own, "budget", "expected " + budget.kind + "= and " + reading.expected);
    if (*reading.value <= 0) refuse_option(own, "budget", "expected more than 0");
  };
  if (budget.kind == "epochs") return require(read_real(budget.value));
  if (budget.kind == "tokens") {
    const auto tokens = read_real(budget.value);
    require(tokens);
    if (*tokens.value != std::trunc(*tokens.value))
      refuse_option(own, "budget", "expected tokens= and a whole number, such as 1e8");
    return;
  }
  if (is_number(budget.kind)) return require(read_integer(budget.value));
  if (budget.kind == "time") return require(read_seconds(budget.value));
  require(read_bytes(budget.value));
}

Budget read_budget(const OptionValues& own) {
  if (!own.has("budget")) return {};
  const bool is_of_program = own.has("program");
  const std::vector<std::string> kinds = is_of_program
                                             ? std::vector<std::string>{"steps", "time"}
                                             : std::vector<std::string>{"epochs", "samples", "tokens", "time", "bytes"};
  const std::vector<std::string> parts = parts_of(own.text("budget"), '=', own, "budget");
  if (parts.size() != 2 || std::ranges::find(kinds, parts[0]) == kinds.end()) {
    refuse_option(own, "budget",
                  std::string(is_of_program ? "expected steps=600 or time=60s, with --program"
                                            : "expected epochs=5, samples=300000, tokens=1e8, time=60s or bytes=10GB") +
                      did_you_mean(parts[0], kinds));
  }
  require_value_of_budget({parts[0], parts[1]}, own);
  return {parts[0], parts[1]};
}

Settings budget_settings(const OptionValues& own, const Settings& of_train) {
  if (!own.has("budget")) return {};
  const auto [kind, value] = read_budget(own);
  Settings settings = {{"epochs", kind == "epochs" ? value : kEndlessEpochs}};
  if (kind != "epochs") settings.emplace_back(option_of_budget(kind), value);
  for (const auto& [name, unused] : of_train) {
    if (has_setting(settings, name)) refuse_option(own, "budget", "contradicts --" + name + "; give one");
  }
  return settings;
}

// Refuses runs with the same name, because each run needs its own directory.
void refuse_same_names(const Grid& grid, const OptionValues& own) {
  std::set<std::string> names;
  for (const Cell& cell : grid.first_cells()) {
    if (!names.insert(cell.name).second)
      refuse_option(own, own.has("lr") ? "lr" : "communicators", "two runs would both be called " + cell.name);
  }
}

// Refuses equal rates that are written differently.
void refuse_same_rates(const OptionValues& own) {
  std::set<double> seen;
  for (const std::string& rate : list_of(own, "lr")) {
    if (!seen.insert(real_item(rate, own, "lr")).second) refuse_option(own, "lr", "names " + rate + " twice");
  }
}

}  // namespace

const std::set<std::string>& options_of_length() {
  static const std::set<std::string> kOptions = {"epochs",     "max-steps",       "max-samples",
                                                 "max-tokens", "stop-after-time", "stop-after-bytes"};
  return kOptions;
}

const std::set<std::string>& options_of_checkpoints() {
  static const std::set<std::string> kOptions = {"checkpoint-dir", "checkpoint-every", "keep",
                                                 "keep-every",     "limit-checkpoint", "require-checkpoint"};
  return kOptions;
}

std::string budget_of(const OptionValues& own) {
  const Budget budget = read_budget(own);
  return budget.kind.empty() ? "" : budget.kind + "=" + budget.value;
}

void require_budget_alone(const std::string& budget, const OptionValues& of_run) {
  if (budget.empty()) return;
  const std::string whose = "--budget " + budget;
  const std::string own = option_of_budget(budget.substr(0, budget.find('=')));
  for (const char* name : {"max-steps", "max-samples", "max-tokens", "stop-after-time", "stop-after-bytes"}) {
    if (of_run.has(name) && own != name) {
      throw Error(ExitCode::kUsage,
                  whose + " contradicts --" + name + " (" + of_run.entry(name).source + "); give one");
    }
  }
  const bool ends_somewhere = budget.starts_with("time") || budget.starts_with("bytes");
  if (ends_somewhere && of_run.text("lr-schedule") != "constant") {
    throw Error(ExitCode::kUsage, whose + ": --lr-schedule " + of_run.text("lr-schedule") +
                                      " needs the run's length in samples, which this budget does not give; give "
                                      "epochs=, samples= or tokens=");
  }
}

OptionSpec program_option() {
  OptionSpec option = {"program", OptionType::kText, "",
                       "command of a training of your own to compare, such as 'python3 train.py': see the guide"};
  option.never_from_file = true;
  return option;
}

std::vector<OptionSpec> compare_options() {
  std::vector<OptionSpec> options = {
      {"communicators",
       OptionType::kText,
       "allreduce,easgd",
       "methods to compare, each with its own options: allreduce,easgd:tau=10,local-sgd:tau=10",
       {},
       method_names()},
      {"ranks", OptionType::kText, "", "numbers of ranks to compare, such as 1,2,4,8 (default: all ranks of the job)"},
      {"batch", OptionType::kText, "32", "values of --batch to compare, such as 32,128"},
      {"lr", OptionType::kText, "",
       "learning rates to try with each method, such as 0.01,0.03,0.1; the one that is best on a held-out tenth of "
       "the training set is reported"},
      {"widen", OptionType::kFlag, "off",
       "if a method's best learning rate is the lowest or highest of --lr, try the next value beyond it, until the "
       "best lies inside; at most " +
           std::to_string(kMostWidenings) +
           " times. Also for an option of one method that is given with several values, such as "
           "easgd:tau=4,easgd:tau=16 (not with --part)"},
      {"seeds", OptionType::kInteger, "3",
       "number of runs of each method at its best learning rate, with different seeds"},
      {"budget", OptionType::kText, "",
       "length of each run: epochs=5, samples=300000, tokens=1e8, time=60s or bytes=10GB (default: that of eave "
       "train); with "
       "--program steps=600 or time=60s (default: the program's)"},
      {"output", OptionType::kPath, "runs/compare",
       "directory for a run directory per run; finished runs in it are kept"},
      {"part", OptionType::kText, "",
       "part of the comparison, for job arrays: 2/10 is the second tenth of the groups of runs"},
      program_option(),
      {"launcher", OptionType::kText, "auto",
       "what starts the ranks of --program: mpirun, srun or torchrun, with options of its own if need be, such as "
       "'mpirun --hostfile hosts' (auto: srun in a Slurm job, else mpirun, else torchrun)"},
      {"limit-silence", OptionType::kSeconds, "10min",
       "time without a line of output or metrics after which a run of --program is ended; 0: never"},
      choice("side-by-side", {"auto", "off"}, "auto",
             "auto: train runs that share no host at the same time; off: one run after another"),
      {"dry-run", OptionType::kFlag, "off",
       "print the runs, and estimate their time and bytes from a few steps of each"}};
  for (const OptionSpec& option : page_word_options()) options.push_back(option);
  return options;
}

ComparedWords split_words(const std::vector<std::string>& words) {
  std::set<std::string> own;
  for (const OptionSpec& option : compare_options()) own.insert(option.name);
  ComparedWords parted;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      throw Error(ExitCode::kUsage, "unexpected word '" + words[i] + "'; options begin with --, see --help");
    }
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    const bool is_bare = equals == std::string::npos;
    const bool has_next = is_bare && i + 1 < words.size() && !words[i + 1].starts_with("--");
    if (own.contains(name)) {
      parted.own.push_back(words[i]);
      if (has_next) parted.own.push_back(words[++i]);
    } else {
      // If an option is given twice, the last one counts, as in train. comparison.json keeps that one too.
      std::erase_if(parted.of_train, [&](const auto& setting) { return setting.first == name; });
      parted.of_train.emplace_back(name, !is_bare ? words[i].substr(equals + 1) : has_next ? words[++i] : "on");
    }
  }
  return parted;
}

int most_ranks(const OptionValues& own) {
  return own.has("ranks") ? std::ranges::max(integers_of(own, "ranks", 1, kMostRanks)) : 0;
}

Grid read_grid(const OptionValues& own, const Settings& of_train, int ranks_of_job, const std::string& share) {
  for (const auto& [name, unused] : of_train) {
    if (name == "extend-schedule" || name == "allow-changed-plugin") {
      throw Error(ExitCode::kUsage, "--" + name + " has no effect: a comparison begins each of its runs anew");
    }
    if (grid_options().contains(name)) {
      throw Error(ExitCode::kUsage, "--" + name + ": a comparison sets it for each of its runs");
    }
  }
  Grid grid;
  grid.seeds = static_cast<int>(own.integer("seeds", 1, 1000));
  grid.settings = of_train;
  if (own.has("lr")) refuse_same_rates(own);
  std::vector<std::string> rates = own.has("lr") ? list_of(own, "lr") : std::vector<std::string>{""};
  const bool is_by_bytes = read_budget(own).kind == "bytes";
  const std::vector<int> counts = ranks_in(own, ranks_of_job);
  if (own.given("communicators") && counts.back() == 1) {
    refuse_option(own, "communicators",
                  std::string("has no effect with one rank: there is no other rank to exchange with; ") +
                      (own.has("program") ? "give --ranks 2"
                                          : "start it with mpirun -np 2, or with --transport threads --ranks 2"));
  }
  for (const int ranks : counts) {
    if (ranks == 1 && is_by_bytes) continue;  // one rank sends no bytes
    for (const int samples : integers_of(own, "batch", 1, kLargestBatch)) {
      const std::string batch = std::to_string(samples);
      if (ranks == 1) {
        grid.groups.push_back({{"none", {}}, 1, batch, rates});
        continue;
      }
      for (Method method : methods_in(own)) {
        if (is_by_bytes && sends_nothing(method))
          refuse_option(own, "budget",
                        "would never end with the communicator " + method.communicator + ", which sends nothing");
        refuse_own_length(method, own);
        const std::string rate = take_rate(method);
        grid.groups.push_back({method, ranks, batch, rate.empty() ? rates : std::vector<std::string>{rate}});
      }
    }
  }
  for (const auto& setting : budget_settings(own, of_train)) grid.settings.push_back(setting);
  refuse_same_names(grid, own);
  const bool varies = own.flag("widen") && !own.has("part") && grid.varies();
  if (own.flag("widen") && !grid.tunes() && !varies)
    refuse_option(own, "widen",
                  "has no effect: give two learning rates or more, as in --lr 0.03,0.1, or two values of a method's "
                  "option, as in --communicators easgd:tau=4,easgd:tau=16");
  if ((grid.tunes() || varies) && !has_setting(of_train, "validation-share"))
    grid.settings.emplace_back("validation-share", share);
  return grid;
}

}  // namespace eave
