// Lists which options a run's results depend on, and compares settings.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/main/command_line.h"

namespace eave {

// Options that name files. The files may be elsewhere on each host, and may be moved between two runs.
const std::set<std::string>& options_of_files();

// Options that may differ between the ranks of a job: options_of_files(), and where the ranks meet. One rank may be
// given the name of rank 0's host, another its address.
const std::set<std::string>& options_of_rank();

// The settings of a command that its ranks must share: those in force, without options_of_rank() and `without`, which
// concerns each rank by itself.
std::map<std::string, std::string> settings_of_rank(const std::string& command, const CommandLine& line,
                                                    const OptionValues& values, const std::string& without = "");

// The options, with their values, that a run's numbers depend on. Left out are options for results, watching,
// evaluation and the network. The order of exchanges is left out too, because a replay is given it.
std::vector<std::pair<std::string, std::string>> settings_of_numbers(const OptionValues& values);

// Finds the first option, by name, that differs between both. Options that only one has come last, because another
// option, such as --communicator, brought them. Options in `free` may differ. The text of an option that is not set is
// "not set".
struct SettingDifference {
  std::string name, saved, mine;
};
std::optional<SettingDifference> find_difference(const std::map<std::string, std::string>& saved,
                                                 const std::map<std::string, std::string>& mine,
                                                 const std::set<std::string>& free);

// The options of a trial: those of its run, without those that write files.
OptionValues without_files(const OptionValues& values);

// The settings of a run that an earlier eave wrote: an option that it did not have, and that is in force in `mine`, has
// its default.
std::map<std::string, std::string> with_later_options(std::map<std::string, std::string> saved,
                                                      const std::map<std::string, std::string>& mine,
                                                      const OptionValues& defaults);

// For a resumed run. Throws Error(kConfiguration), which names the first option that has changed and may not. Options
// for the run's length, place, watching, evaluation and network may change.
void require_same_settings(const std::map<std::string, std::string>& saved,
                           const std::map<std::string, std::string>& mine);

// The settings that require_same_settings compares, as the text of a checkpoint's note kSettings, and from it. Throws
// Error(kBadData) if the text is none.
std::string text_of_settings(const std::map<std::string, std::string>& config);
std::map<std::string, std::string> settings_in(const std::string& text);

// For a resumed run. Throws Error(kConfiguration) if a run with other settings saved the checkpoint at `place`.
void require_settings_of_checkpoint(const std::filesystem::path& place, const std::map<std::string, std::string>& saved,
                                    const std::map<std::string, std::string>& mine);

}  // namespace eave
