#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "app/commands/suggest_parts.h"
#include "app/compare/program_launch.h"
#include "app/main/commands.h"
#include "app/main/plugins.h"
#include "app/options/shared_options.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "communicator/support/plugin.h"
#include "eave/communicator.h"
#include "report/compare/tuned_options.h"
#include "report/plan/plan_run.h"
#include "report/record/config.h"

namespace eave {
namespace {

// Settings that shortened or watched the run, or that belong to its place and its machine.
constexpr std::array kOfThatRun = {"run-dir",         "overwrite",       "resume",
                                   "checkpoint",      "checkpoint-dir",  "max-steps",
                                   "max-samples",     "max-tokens",      "stop-at-accuracy",
                                   "stop-at-loss",    "stop-after-time", "stop-after-bytes",
                                   "log-every",       "trace",           "tensorboard",
                                   "progress",        "config",          "print-config",
                                   "inject-fault",    "communicator",    "lr",
                                   "plugin-file",     "format",          "evaluations",
                                   "evaluate-workers"};
// An imitated network stays if the figures of the network are the run's.
constexpr std::array kOfNetwork = {"shape-rate", "shape-delay", "shape-jitter"};

// tau, if the method has one, global-tau of a tree, and the options of a run that are advised with it.
Settings values_of(const PlanMethod& method) {
  Settings values;
  if (has_period(method)) values.emplace_back("tau", std::to_string(method.tau));
  if (method.pattern == ExchangePattern::kTree && method.global_tau != global_tau_of({}, method.tau))
    values.emplace_back("global-tau", std::to_string(method.global_tau));
  values.insert(values.end(), method.options.begin(), method.options.end());
  return values;
}

class TrainWords {
 public:
  TrainWords(const SuggestQuestion& question, const Suggestion& suggestion)
      : question_(question),
        suggestion_(suggestion),
        run_(repeated_run(question, suggestion)),
        settings_(run_.record.settings),
        line_(train_command_line()) {
    for (const char* name : kOfThatRun) left_out_.insert(name);
    left_out_.insert(changed_plugin_option().name);
    if (question.is_network_given || suggestion.ranks == 1) left_out_.insert(kOfNetwork.begin(), kOfNetwork.end());
    CommandLine transport("");
    add_transport(transport);
    const OptionValues declared = transport.declared();
    for (const auto& [name, unused] : declared.entries()) left_out_.insert(name);
    if (!suggestion.rate.keeps_scaling) left_out_.insert("lr-scaling");
    if (setting_in(settings_, "batch-means") == "total") left_out_.insert({"batch", "batch-means"});
    left_out_.insert({"tau", "global-tau", "beta"});
    for (const TunedOption& option : tuned_options()) left_out_.insert(option.name);
    if (method() != setting_in(settings_, "communicator")) leave_out_options_of_method();
    const auto is_of_plugin = [](const PlanMethod& each) { return plugin_of(each.name) != nullptr; };
    if (!plugin_of(method()) && std::ranges::none_of(suggestion.to_compare, is_of_plugin)) left_out_.insert("plugin");
  }

  std::string method() const { return suggestion_.chosen ? suggestion_.chosen->method.name : "none"; }

  // The words after `eave train`.
  Words make() const {
    Words words = {"--communicator", method()};
    if (suggestion_.chosen)
      for (const auto& [name, text] : values_of(suggestion_.chosen->method)) append(words, name, text);
    append(words, settings_of_training());
    if (!suggestion_.rate.lr.empty()) append(words, "lr", suggestion_.rate.lr);
    if (is_threads() && suggestion_.ranks > 1) {
      append(words, "transport", "threads");
      append(words, "ranks", std::to_string(suggestion_.ranks));
    }
    append(words, "run-dir", run_directory());
    line_.parse(words);  // throws if eave would refuse its own advice
    return words;
  }

  // Model, data, batch and optimizer: the options that differ from their defaults, as options of a line.
  Words settings_of_training() const {
    Words words;
    const OptionValues defaults = line_.parse(chosen_members());
    for (const CommandLine::Group& group : line_.groups()) {
      for (const OptionSpec& option : group.options) {
        const std::string text = option.name == "epochs" ? epochs() : setting_in(settings_, option.name);
        const bool is_wanted = !text.empty() && !left_out_.contains(option.name);
        const std::string& usual = defaults.given(option.name) ? option.default_text : defaults.entry(option.name).text;
        if (is_wanted && !is_same_value(text, usual)) append(words, option.name, text);
      }
    }
    if (left_out_.contains("batch")) append(words, "batch", number_text(run_.plan->basis.samples_per_step));
    return words;
  }

  // Threads of one process are on one host, unless the run only imitated links.
  bool is_threads() const {
    const bool is_one_host = question_.report.network.hosts(suggestion_.ranks) == 1 || !question_.is_network_given;
    return setting_in(settings_, "transport") == "threads" && is_one_host;
  }

 private:
  static void append(Words& words, const std::string& name, const std::string& text) {
    words.insert(words.end(), {"--" + name, text});
  }
  static void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

  // "" if a budget of time or bytes ended the run: it says nothing of a whole training's length.
  std::string epochs() const {
    const auto budget = budget_without_epochs(settings_);
    if (!budget) return setting_in(settings_, "epochs");
    const std::int64_t samples = run_.record.train_samples;
    const bool are_tokens = budget->first == "max-tokens";
    if ((budget->first != "max-samples" && !are_tokens) || samples == 0) return "";
    const std::int64_t of_sample = are_tokens ? run_.record.tokens_per_sample : 1;
    return number_text(number_in(settings_, budget->first) / static_cast<double>(samples * of_sample));
  }

  // The options of the run's method, unless the advised one has them too, which then has its own defaults.
  void leave_out_options_of_method() {
    for (const CommunicatorKind& kind : communicator_kinds())
      for (const OptionSpec& option : kind.options) left_out_.insert(option.name);
    if (find_kind(communicator_kinds(), method()).traits.compresses == false) left_out_.insert("compression");
  }

  // The selectors that decide which defaults hold.
  Words chosen_members() const {
    Words words = {"--communicator", method()};
    for (const char* name : {"data", "model", "optimizer", "compression"}) {
      const std::string text = setting_in(settings_, name);
      if (!text.empty() && !left_out_.contains(name)) append(words, name, text);
    }
    return words;
  }

  // A directory beside the run's, or beside its comparison's, which does not exist yet.
  std::string run_directory() const {
    std::error_code error;
    std::filesystem::path place =
        std::filesystem::path(question_.runs[question_.basis].name).lexically_normal().parent_path();
    if (std::filesystem::exists(place / "comparison.json", error)) place = place.parent_path();
    const std::string name = method() + "-" + std::to_string(suggestion_.ranks);
    std::filesystem::path path = place / name;
    for (int number = 2; std::filesystem::exists(path, error); ++number)
      path.replace_filename(name + "-" + std::to_string(number));
    return path.string();
  }

  const SuggestQuestion& question_;
  const Suggestion& suggestion_;
  const SuggestRun& run_;
  const std::map<std::string, std::string>& settings_;
  const CommandLine line_;
  std::set<std::string> left_out_;
};

Words mpirun_words(int ranks, Words program) {
  if (ranks == 1) return program;
  Words words = {"mpirun", "-np", std::to_string(ranks)};
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

std::string program_of(const SuggestQuestion& question) {
  return setting_in(question.runs[question.basis].record.settings, "program");
}

// How to place the ranks on hosts; "" if one host is enough.
std::string place_of(const SuggestQuestion& question, const Suggestion& suggestion) {
  const PlanNetwork& network = question.report.network;
  const int hosts = network.hosts(suggestion.ranks);
  if (hosts == 1 || suggestion.ranks == 1) return "";
  return "with " + count_text(network.ranks_of_host(suggestion.ranks), "rank") + " on each of " +
         count_text(hosts, "host") + ": give mpirun your list of hosts, or use mpi_launch/run-hosts";
}

// A program that calls the C interface records no version of Python.
bool is_of_python(const SuggestQuestion& question) {
  return question.runs[question.basis].record.settings.contains("python") || program_of(question).ends_with(".py");
}

Words words_of_program(const SuggestQuestion& question) {
  if (is_of_python(question)) return {"python3", program_of(question)};
  return {"./" + program_of(question)};
}

// values_of, and the other options that the program gave this method in the run: there they are not options of a line.
Settings values_in_program(const PlanMethod& method, const SuggestRun& run) {
  Settings values = values_of(method);
  if (setting_in(run.record.settings, "communicator") != method.name) return values;
  std::set<std::string> known = {"tau", "global-tau", "beta"};
  for (const TunedOption& option : tuned_options()) known.insert(option.name);
  for (const OptionSpec& option : find_kind(communicator_kinds(), method.name).options) {
    const std::string text = setting_in(run.record.settings, option.name);
    const bool is_usual = text.empty() || is_same_value(text, option.default_text);
    if (!is_usual && !known.contains(option.name)) values.emplace_back(option.name, text);
  }
  return values;
}

// Such as "center_ranks=1" or "groups=\"hosts\"".
std::string argument_of(std::string option, const std::string& text) {
  std::ranges::replace(option, '-', '_');
  return option + "=" + (parse_number<double>(text) ? text : "\"" + text + "\"");
}

// The call that opens an averager of this method.
std::string opening_of(const PlanMethod& method, const SuggestQuestion& question, const SuggestRun& run) {
  std::string more;
  for (const auto& [name, text] : values_in_program(method, run))
    more += is_of_python(question) ? ", " + argument_of(name, text) : " " + name + "=" + text;
  if (!is_of_python(question)) return "eave_open(\"communicator=" + method.name + more + "\", ...)";
  const std::map<std::string, std::string>& settings = question.runs[question.basis].record.settings;
  const bool has_vectors = settings.contains("python") && !settings.contains("pytorch");
  return std::string(has_vectors ? "eave.VectorAverager(parameters, gradients" : "eave.Averager(model, optimizer") +
         ", \"" + method.name + "\"" + more + ")";
}

RecommendedLine line_of_program(const SuggestQuestion& question, const Suggestion& suggestion) {
  RecommendedLine line{shell_text(mpirun_words(suggestion.ranks, words_of_program(question))), "",
                       place_of(question, suggestion)};
  if (suggestion.chosen)
    line.averager = opening_of(suggestion.chosen->method, question, repeated_run(question, suggestion));
  return line;
}

std::string rates_around(const std::string& lr) {
  const double rate = number_in({{"lr", lr}}, "lr");
  return number_text(rate / 2) + "," + lr + "," + number_text(2 * rate);
}

// "epochs=5", "samples=300000"; "" if the run had train's default length. `words`: of the training.
std::string length_as_budget(const SuggestQuestion& question, const Words& words) {
  if (const auto budget = budget_without_epochs(question.runs[question.basis].record.settings)) {
    const std::string& option = budget->first;
    return option.substr(option.rfind('-') + 1) + "=" + budget->second;
  }
  const auto epochs = std::ranges::find(words, "--epochs");
  return epochs == words.end() ? "" : "epochs=" + *(epochs + 1);
}

}  // namespace

RecommendedLine recommended_line(const SuggestQuestion& question, const Suggestion& suggestion) {
  if (!program_of(question).empty()) return line_of_program(question, suggestion);
  const TrainWords train(question, suggestion);
  Words words = {"eave", "train"};
  const Words more = train.make();
  words.insert(words.end(), more.begin(), more.end());
  if (train.is_threads()) return {shell_text(words), "", ""};
  return {shell_text(mpirun_words(suggestion.ranks, words)), "", place_of(question, suggestion)};
}

std::string comparison_line(const SuggestQuestion& question, const Suggestion& suggestion) {
  const std::string program = program_of(question);
  // eave compare starts scripts of Python only.
  if (suggestion.to_compare.empty() || (!program.empty() && !is_of_python(question))) return "";
  const SuggestRun& run = repeated_run(question, suggestion);
  std::string methods;
  for (const PlanMethod& method : suggestion.to_compare) {
    methods += (methods.empty() ? "" : ",") + method.name;
    const Settings values = program.empty() ? values_of(method) : values_in_program(method, run);
    for (const auto& [name, text] : values) methods += ":" + name + "=" + text;
  }
  const std::string ranks = std::to_string(suggestion.ranks);
  Words words = {"eave", "compare"};
  if (!program.empty()) words.insert(words.end(), {"--program", "python3 " + program});
  words.insert(words.end(), {"--communicators", methods, "--ranks", ranks, "--seeds", "5"});
  if (!suggestion.rate.lr.empty()) words.insert(words.end(), {"--lr", rates_around(suggestion.rate.lr)});
  if (!program.empty()) return shell_text(words);
  const TrainWords train(question, suggestion);
  Words more = train.settings_of_training();
  if (const std::string budget = length_as_budget(question, more); !budget.empty())
    words.insert(words.end(), {"--budget", budget});
  if (const auto epochs = std::ranges::find(more, "--epochs"); epochs != more.end()) more.erase(epochs, epochs + 2);
  words.insert(words.end(), more.begin(), more.end());
  if (train.is_threads()) words.insert(words.end(), {"--transport", "threads"});
  return shell_text(train.is_threads() ? words : mpirun_words(suggestion.ranks, words));
}

}  // namespace eave
