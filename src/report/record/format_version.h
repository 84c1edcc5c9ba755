// The version number of a file's format, in its field "format". Files written before 2026-11-26 lack the field in
// config.json and summary.json; their format is 1.
#pragma once

#include "base/formats/strict_json.h"
#include "report/record/json.h"

namespace eave {

constexpr int kFileFormat = 1;

class UnknownFormat : public Json::exception {
 public:
  explicit UnknownFormat(const std::string& what) : exception(397, what.c_str()) {}
};

// Throws UnknownFormat if `object` states another format.
inline void require_known_format(const Json& object) {
  const auto found = object.find("format");
  if (found == object.end()) return;
  if (const auto format = integer_in<std::int64_t>(*found); format != kFileFormat) {
    throw UnknownFormat("it says format " + std::to_string(format) + "; this eave reads format " +
                        std::to_string(kFileFormat) + ": use the eave that wrote it, or a newer one");
  }
}

}  // namespace eave
