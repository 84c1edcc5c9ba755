#include "app/main/plugins.h"

#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/options/option_sources.h"
#include "base/options/option_values.h"
#include "communicator/support/plugin.h"
#include "eave/check.h"

namespace eave {
namespace {

// The plug-ins that were loaded, as text. They must be loaded before the words are parsed, which needs their options.
std::string& loaded_text() {
  static std::string text;
  return text;
}

std::string named_plugins(const std::vector<std::string>& words, const char* const* environment) {
  const std::string word = "--plugin";
  std::string named = text_of(from_environment(environment), "plugin");
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(word + "=")) named = words[i].substr(word.size() + 1);
    if (words[i] == word && i + 1 < words.size() && !words[i + 1].starts_with("--")) named = words[i + 1];
  }
  return named;
}

// Options with the same name are one option, so their declarations must agree.
void require_options_that_agree() {
  try {
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

int load_plugins(const std::vector<std::string>& words, const char* const* environment) {
  try {
    const std::string named = named_plugins(words, environment);
    if (!named.empty()) load_all(named);
    return 0;
  } catch (...) {
    return refuse_to_run(std::current_exception());
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
