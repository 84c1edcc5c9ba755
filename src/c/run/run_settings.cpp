#include "c/run/run_settings.h"

#include <sstream>

#include "base/options/quantities.h"
#include "eave/check.h"
#include "report/record/config.h"

namespace eave {
namespace {

using Config = std::map<std::string, std::string>;

[[noreturn]] void refuse_setting(const std::string& why) {
  throw Error(ExitCode::kUsage, "settings of the run: " + why);
}

Config lines_of(const std::string& text) {
  Config config;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (line.starts_with("format="))
      refuse_setting("config.json has a format of its own; give '" + line + "' another name");
    if (equals == 0 || equals == std::string::npos) refuse_setting("'" + line + "': expected name=value");
    if (!config.emplace(line.substr(0, equals), line.substr(equals + 1)).second)
      refuse_setting("'" + line.substr(0, equals) + "' is given twice; give it once");
  }
  return config;
}

std::int64_t count_in(const Config& config, const std::string& name, std::int64_t least, std::int64_t otherwise) {
  const auto found = config.find(name);
  if (found == config.end()) return otherwise;
  const auto value = parse_number<std::int64_t>(found->second);
  if (!value || *value < least)
    refuse_setting(name + "=" + found->second + ": expected a whole number from " + std::to_string(least) + " up");
  return *value;
}

bool flag_in(const Config& config, const std::string& name) {
  const std::string text = setting_in(config, name, "off");
  if (text != "on" && text != "off") refuse_setting(name + "=" + text + ": expected on or off");
  return text == "on";
}

Metric metric_in(const Config& config) {
  Metric metric{setting_in(config, "metric", "accuracy"), false};
  const std::string better = setting_in(config, "better", "higher");
  if (metric.name.empty() || metric.name.size() > 40) refuse_setting("metric: expected a name of 1 to 40 bytes");
  if (better != "higher" && better != "lower")
    refuse_setting("better=" + better + ": expected higher or lower, which values of the metric are better");
  metric.lower_is_better = better == "lower";
  return metric;
}

void add_options(Config& config, const AveragerSettings& given, const AveragerSettings& defaults) {
  for (const auto& [name, text] : given) {
    const auto found = config.find(name);
    if (found != config.end() && found->second != text)
      refuse_setting(name + "=" + found->second + ", but the averager has " + name + "=" + text + ": leave it out");
    config[name] = text;
  }
  for (const auto& [name, text] : defaults) {
    const auto [found, is_new] = config.emplace(name, text);
    if (is_new || found->second == text) continue;
    config["config-" + name] = found->second;
    found->second = text;
  }
  // `eave train` has these names for them.
  if (const std::string steps = setting_in(config, "steps", "0"); steps != "0") config.emplace("max-steps", steps);
  config.erase("steps");
}

}  // namespace

RunSettings parse_run_settings(const std::string& text, const AveragerSettings& given,
                               const AveragerSettings& defaults) {
  RunSettings settings;
  Config& config = settings.config;
  config = lines_of(text);
  settings.metric = metric_in(config);
  settings.model = config.emplace("model", "not named").first->second;
  settings.data = config.emplace("data", "not named").first->second;
  settings.optimizer = setting_in(config, "optimizer-settings", setting_in(config, "optimizer", "the program's"));
  settings.learning_rate = setting_in(config, "schedule", "the program's");
  // They contain the learning rate, and runs with several of them are to be seen as alike.
  config.erase("optimizer-settings");
  config.erase("schedule");
  settings.train_samples = count_in(config, "train-samples", 0, 0);
  settings.test_samples = count_in(config, "test-samples", 0, 0);
  settings.batch = count_in(config, "batch", 1, 0);
  settings.every = count_in(config, "log-every", 1, 1);
  settings.overwrite = flag_in(config, "overwrite");
  settings.resume = flag_in(config, "resume");
  if (settings.overwrite && settings.resume)
    refuse_setting("overwrite=on and resume=on contradict each other; give one");
  config.erase("resume");
  config.emplace("program", "not named");
  add_options(config, given, defaults);
  return settings;
}

}  // namespace eave
