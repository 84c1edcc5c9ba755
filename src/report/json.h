// Records as JSON objects; included by report's own sources only.
#pragma once

#include <nlohmann/json.hpp>

#include "eave/recorder.h"

namespace eave {

using Json = nlohmann::ordered_json;

Json to_json(const EvaluationRecord& record);
Json to_json(const RunSummary& summary);

// Throw Json::exception where a field is missing or of another type.
EvaluationRecord evaluation_from(const Json& object);
RunSummary summary_from(const Json& object);

// Text of one object on one line; bytes that are not UTF-8 (a host name, a path) are replaced, never an error.
inline std::string to_line(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace eave
