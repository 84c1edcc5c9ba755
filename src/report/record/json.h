// Converts records to and from JSON objects. Only the sources of report include this header.
#pragma once

#include <nlohmann/json.hpp>

#include "eave/recorder.h"

namespace eave {

using Json = nlohmann::ordered_json;

Json to_json(const EvaluationRecord& record);
Json to_json(const RunSummary& summary);

// Both throw Json::exception if a field is missing or has another type.
EvaluationRecord evaluation_from(const Json& object);
RunSummary summary_from(const Json& object);

// Writes one object on one line. Bytes that are not UTF-8 (in a host name or a path) are replaced and cause no error.
inline std::string to_line(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace eave
