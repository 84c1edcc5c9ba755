#include "app/main/plugins.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/options/option_sources.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "communicator/support/plugin.h"
#include "eave/check.h"
#include "eave/communicator.h"
#include "report/record/config.h"

namespace eave {
namespace {

// The plug-ins that were loaded, as text. They must be loaded before the words are parsed, which needs their options.
std::string& loaded_text() {
  static std::string text;
  return text;
}

// The value of an option in words that are not parsed yet, or else in the environment.
std::string unparsed_text(const std::string& option, const std::vector<std::string>& words,
                          const char* const* environment) {
  const std::string word = "--" + option;
  std::string text = text_of(from_environment(environment), option);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(word + "=")) text = words[i].substr(word.size() + 1);
    if (words[i] == word && i + 1 < words.size() && !words[i + 1].starts_with("--")) text = words[i + 1];
  }
  return text;
}

// " (the run in runs/a has --plugin ./vote.so)"; "" if there is no such run, or it has another method.
std::string plugin_of_run(const std::string& directory, const std::string& method) {
  if (directory.empty()) return "";
  try {
    const std::map<std::string, std::string> config = read_config(std::filesystem::path(directory) / "config.json");
    const std::string plugin = setting_in(config, "plugin");
    if (plugin.empty() || setting_in(config, "communicator") != method) return "";
    return " (the run in " + printable(directory) + " has --plugin " + printable(plugin) + ")";
  } catch (const Error&) {
    return "";
  }
}

bool is_communicator(const std::string& name) {
  return std::ranges::find(communicator_kinds(), name, &CommunicatorKind::name) != communicator_kinds().end();
}

// The names of options that are no method's own. plugin-file stands beside the options in config.json.
std::set<std::string> names_outside_methods() {
  std::set<std::string> names = {"help", "version", "communicator", "plugin-file"};
  for (const CommandLine& line : {train_command_line(), compare_command_line()}) {
    for (const CommandLine::Group& group : line.groups()) {
      if (group.options.front().name == "communicator") continue;
      for (const OptionSpec& option : group.options) names.insert(option.name);
    }
  }
  return names;
}

void refuse_names_outside_methods() {
  const std::set<std::string> taken = names_outside_methods();
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (plugin_of(kind.name) == nullptr) continue;
    for (const OptionSpec& option : kind.options)
      if (taken.contains(option.name))
        throw Error(ExitCode::kUsage, "communicator '" + kind.name + "' declares --" + option.name +
                                          ", which is an option of eave that does not belong to a method; give it "
                                          "another name");
  }
}

// Options with the same name are one option, so their declarations must agree.
void require_options_that_agree() {
  try {
    refuse_names_outside_methods();
    train_command_line().parse({});
  } catch (const Error& error) {
    throw Error(ExitCode::kUsage, std::string("--plugin: its options do not go with eave's own: ") + error.what());
  }
}

void load_all(const std::string& named) {
  OptionValues values;
  values.declare(plugin_option());
  values.set("plugin", named, "command line");
  loaded_text() = values.text("plugin");
  for (const std::string& path : list_of(values, "plugin")) load_plugin(path);
  require_options_that_agree();
}

}  // namespace

OptionSpec plugin_option() {
  OptionSpec option = {"plugin", OptionType::kPaths, "", "shared objects with communicators of your own: a.so,b.so"};
  option.never_from_file = true;
  return option;
}

OptionSpec changed_plugin_option() {
  return {
      "allow-changed-plugin", OptionType::kFlag, "off",
      "on: --resume goes on although the plug-in's file has changed, for example because it was compiled again for a "
      "newer eave. You must know yourself that it is the same method"};
}

int load_plugins(const std::vector<std::string>& words, const char* const* environment) {
  try {
    const std::string named = unparsed_text("plugin", words, environment);
    if (!named.empty()) load_all(named);
    return 0;
  } catch (...) {
    return refuse_to_run(std::current_exception());
  }
}

OptionValues parse_with_plugins(const CommandLine& line, const std::vector<std::string>& words,
                                const char* const* environment) {
  try {
    return line.parse(words, environment);
  } catch (const Error& error) {
    const std::string method = unparsed_text("communicator", words, environment);
    if (method.empty() || is_communicator(method)) throw;
    throw Error(error.code(), std::string(error.what()) + "; a method of your own needs --plugin FILE" +
                                  plugin_of_run(unparsed_text("run-dir", words, environment), method));
  }
}

void require_loaded(const OptionValues& values) {
  if (!values.has("plugin") || values.text("plugin") == loaded_text()) return;
  refuse_option(values, "plugin", "expected the path of a shared object: --plugin ./method.so");
}

std::string plugin_hash(const OptionValues& values) {
  if (values.entries().find("communicator") == values.entries().end()) return "";
  const Plugin* plugin = plugin_of(values.text("communicator"));
  return plugin ? plugin->file_hash : "";
}

}  // namespace eave
