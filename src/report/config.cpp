#include "report/config.h"

#include "base/files.h"
#include "report/json.h"

namespace eave {

void write_config(const std::filesystem::path& path, const std::map<std::string, std::string>& config) {
  write_file_atomically(path, Json(config).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace eave
