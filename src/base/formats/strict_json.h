// Parses JSON from a file so that it has only one meaning. The parser alone takes the last of two equal names, stops at
// a NUL, and skips a byte order mark.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace eave {

class UnclearJson : public nlohmann::json::exception {
 public:
  explicit UnclearJson(const std::string& what) : exception(399, what.c_str()) {}
};

// Throws Json::exception: parse_error if the text is not JSON; UnclearJson for
// - a name that occurs twice in one object, or more than 4096 names in one object
// - a NUL, or a byte order mark
// - values nested over 64 deep.
// Takes time proportional to the text.
nlohmann::ordered_json parse_json(std::string_view text);

// The same, but returns a discarded value instead of throwing.
nlohmann::ordered_json parse_json_or_discard(std::string_view text);

}  // namespace eave
