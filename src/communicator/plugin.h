// Methods of one's own, from shared objects (EAVE_COMMUNICATOR_PLUGIN in eave/communicator.h).
#pragma once

#include <string>
#include <vector>

namespace eave {

struct Plugin {
  std::string path;
  std::string method;
  std::string file_hash;
};

// Adds the method of a shared object to communicator_kinds(); once for each file, again does nothing. Before anything
// points into that list, and by one thread. Throws Error: kUsage where the file cannot be opened or is no plug-in, or
// its method's name is taken; kConfiguration where it was compiled with other headers than this eave. What comes
// back stays valid until the next call.
const Plugin& load_plugin(const std::string& path);

const std::vector<Plugin>& loaded_plugins();

}  // namespace eave
