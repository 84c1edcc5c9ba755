#include "test/program/python.h"

#include <cstdlib>
#include <vector>

namespace eave {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> candidates() {
  std::vector<std::string> found;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const fs::path environments = cache ? fs::path(cache) / "eave" : fs::path(EAVE_SOURCE) / "build";
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(environments, error)) {
    if (entry.path().filename().string().starts_with("pytorch-") && fs::exists(entry.path() / "complete", error))
      found.push_back((entry.path() / "bin/python").string());
  }
  found.insert(found.end(), {"python3", "/usr/bin/python3"});
  return found;
}

}  // namespace

std::string python_with(const Place& place, const std::string& package) {
  for (const std::string& python : candidates()) {
    if (place.run("timeout 100 '" + python + "' -c 'import " + package + "'").code == 0) return "'" + python + "'";
  }
  return "";
}

std::string script(const std::string& name) { return "'" EAVE_SOURCE "/test/program/" + name + "'"; }

}  // namespace eave
