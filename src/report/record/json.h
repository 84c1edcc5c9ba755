// Converts records to and from JSON objects, and checks the version of a file's format. Only the sources of report
// include this header.
#pragma once

#include <nlohmann/json.hpp>

#include "base/formats/strict_json.h"
#include "eave/recorder.h"

namespace eave {

using Json = nlohmann::ordered_json;

Json loss_to_json(double loss);      // null if it is not recordable
Json to_json(const Metric& metric);  // {"name", "better": "lower" or "higher"}
Json to_json(const EvaluationRecord& record);
Json to_json(const RunSummary& summary);

// These throw Json::exception if a field is missing or has another type.
Metric metric_from(const Json& object);
EvaluationRecord evaluation_from(const Json& object);
RunSummary summary_from(const Json& object);

// Writes one object on one line. Bytes that are not UTF-8 (in a host name or a path) are replaced and cause no error.
inline std::string to_line(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The version number of a file's format, in its field "format". Files written before 2026-11-26 lack the field in
// config.json and summary.json; their format is 1.
constexpr int kFileFormat = 1;
// The format of metrics.jsonl and summary.json of a run with another metric than accuracy. Then "score" replaces
// "accuracy", and "metric" names it.
constexpr int kMetricFormat = 2;

class UnknownFormat : public Json::exception {
 public:
  explicit UnknownFormat(const std::string& what) : exception(397, what.c_str()) {}
};

// Throws UnknownFormat if `object` states a format that is not between 1 and `newest`.
inline void require_known_format(const Json& object, int newest = kFileFormat) {
  const auto found = object.find("format");
  if (found == object.end()) return;
  if (const auto format = integer_in<std::int64_t>(*found); format < kFileFormat || format > newest) {
    throw UnknownFormat("it says format " + std::to_string(format) + "; this eave reads format " +
                        (newest > kFileFormat ? "1 to " : "") + std::to_string(newest) +
                        ": use the eave that wrote it, or a newer one");
  }
}

}  // namespace eave
