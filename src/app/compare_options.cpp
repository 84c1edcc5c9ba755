#include "app/compare_options.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "app/option_lists.h"
#include "base/option_checks.h"
#include "eave/check.h"
#include "eave/communicator.h"

namespace eave {
namespace {

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const CommunicatorKind& kind : communicator_kinds()) names.push_back(kind.name);
  return names;
}

// Set by the grid itself, for each run.
const std::set<std::string>& grid_options() {
  static const std::set<std::string> kOptions = {"communicator", "seed", "run-dir", "overwrite", "resume"};
  return kOptions;
}

Method read_method(const std::string& text, const OptionValues& values) {
  const std::vector<std::string> parts = parts_of(text, ':', values, "communicators");
  Method method{parts.front(), {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string name = parts[i].substr(0, equals);
    if (equals == std::string::npos || equals == 0 || equals + 1 == parts[i].size()) {
      refuse_option(values, "communicators", "'" + parts[i] + "': expected option=value, as in easgd:tau=10:alpha=0.1");
    }
    if (grid_options().contains(name) || name == "ranks" || name == "batch") {
      refuse_option(values, "communicators", "'" + parts[i] + "': --" + name + " is the same for all methods");
    }
    method.options.emplace_back(name, parts[i].substr(equals + 1));
  }
  return method;
}

int count_in(const std::string& text, const OptionValues& values, const std::string& option) {
  char* end = nullptr;
  const long count = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != '\0' || count < 1 || count > 1 << 20) {
    refuse_option(values, option, "expected numbers above 0 such as 1,2,4");
  }
  return static_cast<int>(count);
}

std::vector<int> ranks_in(const OptionValues& own, int ranks_of_job) {
  std::vector<int> counts;
  if (own.has("ranks")) {
    for (const std::string& each : list_of(own, "ranks")) counts.push_back(count_in(each, own, "ranks"));
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

// Removes the option from the method's own.
std::string take_rate(Method& method) {
  const auto found = std::ranges::find(method.options, "lr", &Settings::value_type::first);
  if (found == method.options.end()) return "";
  const std::string rate = found->second;
  method.options.erase(found);
  return rate;
}

Settings budget_settings(const OptionValues& own, const Settings& of_train) {
  if (!own.has("budget")) return {};
  const std::string& text = own.text("budget");
  const std::size_t equals = text.find('=');
  const std::string kind = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
  const auto with = [&](const char* option) -> Settings { return {{"epochs", "1000000"}, {option, value}}; };
  Settings settings;
  if (!value.empty() && kind == "epochs") settings = {{"epochs", value}};
  if (!value.empty() && kind == "samples") settings = with("max-samples");
  if (!value.empty() && kind == "time") settings = with("stop-after-time");
  if (!value.empty() && kind == "bytes") settings = with("stop-after-bytes");
  if (settings.empty()) refuse_option(own, "budget", "expected epochs=5, samples=300000, time=60s or bytes=10GB");
  for (const auto& [name, unused] : of_train) {
    if (std::ranges::find(settings, name, &Settings::value_type::first) != settings.end())
      refuse_option(own, "budget", "contradicts --" + name + "; give one");
  }
  return settings;
}

// Each run has a directory of its own.
void refuse_same_names(const Grid& grid, const OptionValues& own) {
  std::set<std::string> names;
  for (const Cell& cell : grid.first_cells()) {
    if (!names.insert(cell.name).second)
      refuse_option(own, own.has("lr") ? "lr" : "communicators", "two runs would both be called " + cell.name);
  }
}

// Written otherwise, a number is the same.
void refuse_same_rates(const OptionValues& own) {
  std::set<double> seen;
  for (const std::string& rate : list_of(own, "lr")) {
    char* end = nullptr;
    const double value = std::strtod(rate.c_str(), &end);
    if (end == rate.c_str() || *end != '\0') refuse_option(own, "lr", "'" + rate + "' is no number");
    if (!seen.insert(value).second) refuse_option(own, "lr", "names " + rate + " twice");
  }
}

}  // namespace

void require_budget_alone(const std::string& budget, const OptionValues& of_run) {
  if (budget.empty()) return;
  const std::string whose = "--budget " + budget;
  for (const char* name : {"max-steps", "max-samples", "stop-after-time", "stop-after-bytes"}) {
    const bool is_own = budget.starts_with("samples") ? std::string("max-samples") == name
                                                      : name == "stop-after-" + budget.substr(0, budget.find('='));
    if (of_run.has(name) && !is_own) {
      throw Error(ExitCode::kUsage,
                  whose + " contradicts --" + name + " (" + of_run.entry(name).source + "); give one");
    }
  }
  const bool ends_somewhere = budget.starts_with("time") || budget.starts_with("bytes");
  if (ends_somewhere && of_run.text("lr-schedule") != "constant") {
    throw Error(ExitCode::kUsage, whose + " ends runs at a number of samples that --lr-schedule " +
                                      of_run.text("lr-schedule") +
                                      " would have to know before; give epochs or samples");
  }
}

std::vector<OptionSpec> compare_options() {
  return {{"communicators",
           OptionType::kText,
           "allreduce,easgd",
           "methods, each with options of its own: allreduce,easgd:tau=10,local-sgd:tau=10",
           {},
           method_names()},
          {"ranks", OptionType::kText, "", "numbers of ranks, such as 1,2,4,8; else all of the job"},
          {"batch", OptionType::kText, "32", "batches, such as 32,128"},
          {"lr", OptionType::kText, "",
           "learning rates, such as 0.01,0.03,0.1: each method is tuned alike, by a tenth of the training set that is "
           "held out"},
          {"seeds", OptionType::kInteger, "3", "runs of each method, at its best learning rate"},
          {"budget", OptionType::kText, "", "of each run: epochs=5, samples=300000, time=60s or bytes=10GB"},
          {"output", OptionType::kPath, "runs/compare",
           "directory with a run directory per run; finished ones in it are kept"},
          {"part", OptionType::kText, "", "2/10: the second tenth of the groups of runs, for job arrays"},
          {"side-by-side",
           OptionType::kText,
           "auto",
           "small runs at the same time; auto: where they share no host",
           {"auto", "off"}},
          {"dry-run", OptionType::kFlag, "off", "print the runs, and from a few steps of each what they will take"}};
}

ComparedWords part_words(const std::vector<std::string>& words) {
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
      parted.of_train.emplace_back(name, !is_bare ? words[i].substr(equals + 1) : has_next ? words[++i] : "on");
    }
  }
  return parted;
}

int most_ranks(const OptionValues& own) {
  int most = 0;
  if (!own.has("ranks")) return most;
  for (const std::string& each : list_of(own, "ranks")) most = std::max(most, count_in(each, own, "ranks"));
  return most;
}

Grid read_grid(const OptionValues& own, const Settings& of_train, int ranks_of_job) {
  for (const auto& [name, unused] : of_train) {
    if (name == "extend-schedule") {
      throw Error(ExitCode::kUsage, "--extend-schedule has no effect: a comparison begins each of its runs anew");
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
  const bool is_by_bytes = own.has("budget") && own.text("budget").starts_with("bytes");
  const std::vector<int> counts = ranks_in(own, ranks_of_job);
  if (own.given("communicators") && counts.back() == 1) {
    refuse_option(own, "communicators",
                  "has no effect with one rank, which has nobody to exchange with; start it with "
                  "mpirun -np 2, or with --transport threads --ranks 2");
  }
  for (const int ranks : counts) {
    if (ranks == 1 && is_by_bytes) continue;  // it sends none
    for (const std::string& batch : list_of(own, "batch")) {
      if (ranks == 1) {
        grid.groups.push_back({{"none", {}}, 1, batch, rates});
        continue;
      }
      for (Method method : methods_in(own)) {
        if (is_by_bytes && method.communicator == "none")
          refuse_option(own, "budget", "would never end with the communicator none, which sends nothing");
        const std::string rate = take_rate(method);
        grid.groups.push_back({method, ranks, batch, rate.empty() ? rates : std::vector<std::string>{rate}});
      }
    }
  }
  for (const auto& setting : budget_settings(own, of_train)) grid.settings.push_back(setting);
  refuse_same_names(grid, own);
  if (grid.tunes() && !has_setting(of_train, "validation-share")) grid.settings.emplace_back("validation-share", "0.1");
  return grid;
}

}  // namespace eave
