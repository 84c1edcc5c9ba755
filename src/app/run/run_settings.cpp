#include "app/run/run_settings.h"

#include <iterator>
#include <sstream>

#include "base/formats/strict_json.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/check.h"
#include "report/record/config.h"
#include "report/record/json.h"
#include "report/record/json_fields.h"

namespace eave {
namespace {

constexpr const char* kPluginFile = "plugin-file";  // no option, but the hash of a file

std::set<std::string> words_in(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

constexpr const char* kWatching =
    "allow-changed-plugin batch-norm-statistics checkpoint checkpoint-dir checkpoint-every decode-threads "
    "evaluate-every evaluate-workers "
    "evaluations "
    "evaluation-batch "
    "image-cache limit-checkpoint limit-setup limit-step keep keep-every "
    "log-every nonfinite-limit on-bad-image on-nonfinite on-replica-fault overwrite replica-hash-every "
    "print-config "
    "progress "
    "recompute-batches require-checkpoint resume run-dir stop-after-bytes stop-after-time stop-at-accuracy "
    "stop-at-loss "
    "tensorboard "
    "trace ";
constexpr const char* kPlace =
    "allow-unstable inject-fault meet meet-limit ranks shape-compute shape-delay shape-jitter shape-rate slow-rank "
    "transport ";

// The options that a resumed run may change.
const std::set<std::string>& changeable() {
  static const std::set<std::string> kOptions = [] {
    std::set<std::string> options = words_in(std::string(kWatching) + kPlace +
                                             "async-overlap autotune bucket-bytes device epochs extend-schedule gpu "
                                             "max-samples max-steps max-tokens overlap replay share-gpu threads");
    options.insert(options_of_files().begin(), options_of_files().end());
    return options;
  }();
  return kOptions;
}

std::set<std::string> changeable_in(const std::map<std::string, std::string>& mine) {
  std::set<std::string> options = changeable();
  if (setting_in(mine, "allow-changed-plugin") == "on") options.insert(kPluginFile);
  return options;
}

constexpr const char* kIfSameMethod =
    ". If it is the same method, compiled again for another eave, give --allow-changed-plugin";

}  // namespace

const std::set<std::string>& options_of_files() {
  static const std::set<std::string> kOptions = {"config", "data-dir", "plugin", "stage-to", "vocabulary"};
  return kOptions;
}

const std::set<std::string>& options_of_rank() {
  static const std::set<std::string> kOptions = [] {
    std::set<std::string> options = options_of_files();
    options.insert({"meet", "meet-limit"});
    return options;
  }();
  return kOptions;
}

std::map<std::string, std::string> settings_of_rank(const std::string& command, const CommandLine& line,
                                                    const OptionValues& values, const std::string& without) {
  std::map<std::string, std::string> settings{{"command", command}};
  for (const auto& [name, value] : line.config_in_force(values)) {
    if (options_of_rank().contains(name) || name == without) continue;
    settings[name == kPluginFile ? "the plug-in file" : "--" + name] = value;
  }
  return settings;
}

std::vector<std::pair<std::string, std::string>> settings_of_numbers(const OptionValues& values) {
  std::set<std::string> others = words_in(std::string(kWatching) + kPlace + "async-order async-overlap replay");
  others.insert(options_of_files().begin(), options_of_files().end());
  for (const char* in_older_logs : {"meet", "meet-limit"}) others.erase(in_older_logs);
  others.erase("vocabulary");  // losses of other tokens are other numbers
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto& [name, entry] : values.entries()) {
    if (!others.contains(name) && values.has(name)) settings.emplace_back(name, entry.text);
  }
  return settings;
}

std::optional<SettingDifference> find_difference(const std::map<std::string, std::string>& saved,
                                                 const std::map<std::string, std::string>& mine,
                                                 const std::set<std::string>& free) {
  std::map<std::string, std::string> names = saved;
  names.insert(mine.begin(), mine.end());
  std::optional<SettingDifference> first;
  for (const auto& [name, unused] : names) {
    const std::string before = setting_in(saved, name, "not set"), now = setting_in(mine, name, "not set");
    if (free.contains(name) || is_same_value(before, now)) continue;
    if (saved.contains(name) && mine.contains(name)) return SettingDifference{name, before, now};
    if (!first) first = {name, before, now};
  }
  return first;
}

OptionValues without_files(const OptionValues& values) {
  const std::set<std::string> of_files = {"run-dir", "checkpoint-dir", "trace", "tensorboard"};
  OptionValues kept;
  for (const auto& [name, entry] : values.entries()) {
    kept.declare(entry.spec);
    if (entry.is_set && !of_files.contains(name)) kept.set(name, entry.text, entry.source);
  }
  return kept;
}

std::map<std::string, std::string> with_later_options(std::map<std::string, std::string> saved,
                                                      const std::map<std::string, std::string>& mine,
                                                      const OptionValues& defaults) {
  for (const auto& [name, unused] : mine) {
    if (defaults.entries().contains(name) && defaults.has(name)) saved.try_emplace(name, defaults.text(name));
  }
  return saved;
}

void require_same_settings(const std::map<std::string, std::string>& saved,
                           const std::map<std::string, std::string>& mine) {
  const auto difference = find_difference(saved, mine, changeable_in(mine));
  if (!difference) return;
  if (difference->name == kPluginFile)
    throw Error(ExitCode::kConfiguration, "--resume: the plug-in " + printable(setting_in(mine, "plugin", "file")) +
                                              " has changed since the run began (hash " + printable(difference->saved) +
                                              ", now " + difference->mine +
                                              "); resume with the file that the run began with" + kIfSameMethod);
  throw Error(ExitCode::kConfiguration, "--resume: the run was started with --" + printable(difference->name) + " " +
                                            printable(difference->saved) + ", now it is " + difference->mine +
                                            "; resume with the settings in config.json");
}

std::string text_of_settings(const std::map<std::string, std::string>& config) {
  Json settings = Json::object();
  for (const auto& [name, value] : config) {
    if (!changeable().contains(name)) settings[name] = value;
  }
  return settings.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::map<std::string, std::string> settings_in(const std::string& text) {
  try {
    const Json settings = parse_json(text);
    return JsonFields(settings).texts();
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kBadData, "the settings in the checkpoint cannot be read: " + why_unreadable(error));
  }
}

void require_settings_of_checkpoint(const std::filesystem::path& place, const std::map<std::string, std::string>& saved,
                                    const std::map<std::string, std::string>& mine) {
  const auto difference = find_difference(saved, mine, changeable_in(mine));
  if (!difference) return;
  const bool is_plugin = difference->name == kPluginFile;
  throw Error(ExitCode::kConfiguration,
              place.string() + " is a checkpoint of another run: it was saved with " +
                  (is_plugin ? "another plug-in, of hash" : "--" + printable(difference->name)) + " " +
                  printable(difference->saved) + ", and this run has " + difference->mine +
                  "; put this run's own checkpoints in its place, or move it away to go on from an older one" +
                  (is_plugin ? kIfSameMethod : ""));
}

}  // namespace eave
