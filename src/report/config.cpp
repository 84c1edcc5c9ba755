#include "report/config.h"

#include <algorithm>

#include "base/files.h"
#include "base/strict_json.h"
#include "eave/check.h"
#include "report/format_version.h"
#include "report/json.h"

namespace eave {

std::map<std::string, std::string> read_config(const std::filesystem::path& path) {
  const std::string text = read_file(path, std::size_t{1} << 24);
  std::string where;
  try {
    Json object = parse_json(text);
    if (!object.is_object()) throw Json::type_error::create(302, "no object", &object);
    require_known_format(object);
    object.erase("format");
    return object.get<std::map<std::string, std::string>>();
  } catch (const UnknownFormat& error) {
    throw Error(ExitCode::kBadData, path.string() + ": " + error.what());
  } catch (const UnclearJson& error) {
    where = error.what();
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    where =
        "line " + std::to_string(1 + std::count(text.begin(), end, '\n')) + " is no JSON, or the file ends too early";
  } catch (const Json::exception&) {
    where = "it is no list of options, each with a text";
  }
  throw Error(ExitCode::kBadData, path.string() + " is not what eave has written: " + where +
                                      "; put back a copy of it, or train anew in another directory");
}

void write_config(const OutputPath& path, const std::map<std::string, std::string>& config) {
  Json object = {{"format", kFileFormat}};
  object.update(Json(config));
  write_file_atomically(path, object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string setting_in(const std::map<std::string, std::string>& config, const std::string& name) {
  const auto found = config.find(name);
  return found == config.end() ? "" : found->second;
}

}  // namespace eave
