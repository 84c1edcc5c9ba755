#include "report/record/config.h"

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "base/formats/strict_json.h"
#include "base/options/quantities.h"
#include "eave/check.h"
#include "report/record/json.h"
#include "report/record/json_fields.h"

namespace eave {

std::map<std::string, std::string> read_config(const std::filesystem::path& path) {
  const std::string text = read_file(path, std::size_t{1} << 24);
  try {
    Json object = parse_json(text);
    if (!object.is_object()) throw OutOfRange("it is no list of options, each with a text");
    require_known_format(object);
    object.erase("format");
    return JsonFields(object).texts();
  } catch (const UnknownFormat& error) {
    throw Error(ExitCode::kBadData, path.string() + ": " + error.what());
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kBadData,
                path.string() + " is not what eave has written: " + why_unreadable(error, text) + kPutBack);
  }
}

void write_config(const OutputPath& path, const std::map<std::string, std::string>& config) {
  Json object = {{"format", kFileFormat}};
  object.update(Json(config));
  write_file_atomically(path, object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string setting_in(const std::map<std::string, std::string>& config, const std::string& name,
                       const std::string& otherwise) {
  const auto found = config.find(name);
  return found == config.end() ? otherwise : found->second;
}

double number_in(const std::map<std::string, std::string>& config, const std::string& name) {
  return parse_number<double>(setting_in(config, name)).value_or(0);
}

std::optional<std::pair<std::string, std::string>> budget_without_epochs(
    const std::map<std::string, std::string>& config) {
  if (setting_in(config, "epochs") != kEndlessEpochs) return std::nullopt;
  for (const char* option : {"max-samples", "max-tokens", "stop-after-time", "stop-after-bytes"})
    if (config.contains(option)) return *config.find(option);
  return std::nullopt;
}

}  // namespace eave
