// The settings that a program gives to a run that it records.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "eave/recorder.h"

namespace eave {

struct RunSettings {
  std::map<std::string, std::string> config;  // for config.json: what was said, and the averager's options
  Metric metric;
  std::string model, data, optimizer, learning_rate;
  std::int64_t train_samples = 0, test_samples = 0;
  std::int64_t batch = 0;  // samples of each rank in a step whose samples are not told; 0: not known
  std::int64_t every = 1;  // steps of a line in metrics.jsonl
  bool overwrite = false;  // the run in the directory is replaced
  bool resume = false;     // it goes on, if the averager does
};

using AveragerSettings = std::vector<std::pair<std::string, std::string>>;

// `text`: the settings of eave_run_open. `given`: the averager's options that somebody gave; `defaults`: its method's
// other options. A setting that has another value than a default becomes config-NAME. Throws Error(kUsage) if a line
// has no name, comes twice, contradicts a given option, or if a number is none.
RunSettings parse_run_settings(const std::string& text, const AveragerSettings& given,
                               const AveragerSettings& defaults);

}  // namespace eave
