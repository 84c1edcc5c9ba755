// Which options make a run what it is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eave/options.h"

namespace eave {

// Options that name files: these may lie elsewhere on each host, and be moved between two runs.
const std::set<std::string>& options_of_files();

// Those that its numbers depend on, with their values: neither where results go, nor how the run is watched and
// evaluated, nor on what network it runs, nor the order of exchanges, which a replay is given.
std::vector<std::pair<std::string, std::string>> settings_of_numbers(const OptionValues& values);

// The first option, in the order of names, that is not the same in both; `free` ones may differ. Texts are "not set"
// where it is not.
struct SettingDifference {
  std::string name, saved, mine;
};
std::optional<SettingDifference> find_difference(const std::map<std::string, std::string>& saved,
                                                 const std::map<std::string, std::string>& mine,
                                                 const std::set<std::string>& free);

// For a run that goes on: throws Error(kConfiguration) naming the first option that has changed and must not. How long
// it runs, where, how it is watched and evaluated, and on what network may differ.
void require_same_settings(const std::map<std::string, std::string>& saved,
                           const std::map<std::string, std::string>& mine);

}  // namespace eave
