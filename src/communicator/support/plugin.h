// Loads methods from shared objects, plug-ins (EAVE_COMMUNICATOR_PLUGIN in eave/communicator.h).
#pragma once

#include <string>
#include <vector>

namespace eave {

struct Plugin {
  std::string path;
  std::string method;
  std::string file_hash;
};

// Adds the method of a shared object to communicator_kinds(). A second call for the same file does nothing. Call it
// from one thread, before anything points into that list. The result is valid until the next call.
//
// Throws Error:
// - kInputMissing if there is no such file
// - kBadData if the path is no regular file
// - kUsage if the file cannot be opened or is no plug-in, or if a method of that name exists
// - kConfiguration if the plug-in was compiled with other headers than this eave
const Plugin& load_plugin(const std::string& path);

const std::vector<Plugin>& loaded_plugins();
// The plug-in that brought this method; nullptr: the method is eave's own.
const Plugin* plugin_of(const std::string& method);

}  // namespace eave
