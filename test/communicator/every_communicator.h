// Every communicator by name, with options for short tests: a few steps contain several exchanges, and their order does
// not depend on timing.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "eave/communicator.h"

namespace eave {

// The names of all communicators that can run on `ranks` ranks.
inline std::vector<std::string> communicator_names(int ranks) {
  std::vector<std::string> names;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (ranks == 1 || !kind.traits.only_one_rank) names.push_back(kind.name);
  }
  return names;
}

// The options (name, value) that make `communicator` exchange often and in a fixed order on `ranks` ranks.
inline std::vector<std::pair<std::string, std::string>> frequent_exchanges(const std::string& communicator,
                                                                           int ranks = 1) {
  const std::map<std::string, std::string> settings = {
      {"tau", "3"}, {"shard-bytes", "64"}, {"async-order", "round-robin"}};
  std::vector<std::pair<std::string, std::string>> given;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.name != communicator) continue;
    for (const OptionSpec& option : kind.options) {
      if (settings.contains(option.name)) given.emplace_back(option.name, settings.at(option.name));
    }
  }
  if (communicator == "easgd-tree" && ranks > 1) {  // by default all ranks of one host are a single group
    given.insert(given.end(), {{"groups", "2"}, {"global-tau", "6"}});
  }
  if (communicator == "allreduce") given.emplace_back("bucket-bytes", "4k");
  return given;
}

// `name` in a form that GoogleTest accepts in the name of a test: "-" and " " become "_".
inline std::string identifier(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == ' '; }, '_');
  return name;
}

}  // namespace eave
