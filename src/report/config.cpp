#include "report/config.h"

#include "base/files.h"
#include "eave/check.h"
#include "report/json.h"

namespace eave {

std::map<std::string, std::string> read_config(const std::filesystem::path& path) {
  try {
    return Json::parse(read_file(path, std::size_t{1} << 24)).get<std::map<std::string, std::string>>();
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kBadData, path.string() + " is no configuration of an eave run: " + error.what());
  }
}

void write_config(const std::filesystem::path& path, const std::map<std::string, std::string>& config) {
  write_file_atomically(path, Json(config).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string setting_in(const std::map<std::string, std::string>& config, const std::string& name) {
  const auto found = config.find(name);
  return found == config.end() ? "" : found->second;
}

}  // namespace eave
