// --plugin a.so,b.so and EAVE_PLUGIN: methods of one's own.
#pragma once

#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

OptionSpec plugin_option();

// Loads what the words or else the environment names, so that its options are known when the words are read. Returns 0;
// or else the exit code of the job, which has ended with a message.
int load_plugins(const std::vector<std::string>& words, const char* const* environment);

// Throws Error(kUsage) where --plugin, as it was read then, is not what has been loaded.
void require_loaded(const OptionValues& values);

// Of the file that brought the chosen communicator; empty where it is eave's own.
std::string plugin_hash(const OptionValues& values);

}  // namespace eave
