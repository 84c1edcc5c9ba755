// Loads the methods that --plugin a.so,b.so or EAVE_PLUGIN name.
#pragma once

#include <string>
#include <vector>

#include "app/main/command_line.h"
#include "eave/options.h"

namespace eave {

OptionSpec plugin_option();

// --allow-changed-plugin of eave train.
OptionSpec changed_plugin_option();

// Loads the plug-ins that the words, or else the environment, name. Call it before the words are parsed, so that the
// plug-ins' options are known. Returns 0, or the exit code of the job, which has then ended with a message.
int load_plugins(const std::vector<std::string>& words, const char* const* environment);

// As line.parse(). If it refuses the words, and they name a method that is unknown, the message asks for --plugin, with
// the plug-in of the run in --run-dir if that run has this method.
OptionValues parse_with_plugins(const CommandLine& line, const std::vector<std::string>& words,
                                const char* const* environment);

// Throws Error(kUsage) if the parsed --plugin differs from the plug-ins that were loaded.
void require_loaded(const OptionValues& values);

// The hash of the plug-in file that provides the chosen communicator; "" if the communicator is eave's own.
std::string plugin_hash(const OptionValues& values);

}  // namespace eave
