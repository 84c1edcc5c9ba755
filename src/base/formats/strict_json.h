// Reads JSON from a file so that it has only one meaning. The parser alone takes the last of two equal names, stops at
// a NUL, and skips a byte order mark.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace eave {

class AmbiguousJson : public nlohmann::json::exception {
 public:
  explicit AmbiguousJson(const std::string& what) : exception(399, what.c_str()) {}
};

// Throws Json::exception: parse_error if the text is not JSON; AmbiguousJson for
// - a name that occurs twice in one object, or more than 4096 names in one object
// - a NUL, or a byte order mark
// - values nested over 64 deep.
// Takes time proportional to the text.
nlohmann::ordered_json parse_json(std::string_view text);

// The same for objects of up to kManyNames names, which come back in alphabetical order. Takes time proportional to
// the text, times the logarithm of the number of names.
inline constexpr std::size_t kManyNames = std::size_t{1} << 17;  // more than the arrays of any model that eave builds
nlohmann::json parse_json_of_many_names(std::string_view text);

// The same as parse_json, but returns a discarded value instead of throwing.
nlohmann::ordered_json parse_json_or_discard(std::string_view text);

// Limits how deep JSON from a file may nest, before it is parsed. The parser's values copy themselves recursively, so a
// file of brackets would overflow the stack.
constexpr int kMostNested = 64;  // eave's own files nest 5 deep

// Whether arrays and objects nest deeper than `most`. If `json` is not valid JSON, the answer holds up to the error.
bool is_too_nested(std::string_view json, int most = kMostNested);

// Whole numbers in parsed JSON. nlohmann's own conversion accepts a number of 30 digits, or 1e30.
class NotAnInteger : public nlohmann::json::exception {
 public:
  explicit NotAnInteger(const std::string& what) : exception(302, what.c_str()) {}
};

// Throws Json::exception if `value` is not a whole number, or does not fit into Integer. 4.0 is a whole number.
template <typename Integer, typename Json>
Integer integer_in(const Json& value) {
  constexpr double kLargestWhole = 9007199254740992;  // doubles beyond it are no longer exact integers
  if (value.is_number_unsigned()) {
    if (const auto number = value.template get<std::uint64_t>(); std::in_range<Integer>(number))
      return static_cast<Integer>(number);
  } else if (value.is_number_integer()) {
    if (const auto number = value.template get<std::int64_t>(); std::in_range<Integer>(number))
      return static_cast<Integer>(number);
  } else if (value.is_number_float()) {
    const auto number = value.template get<double>();
    if (std::abs(number) <= kLargestWhole && std::trunc(number) == number &&
        std::in_range<Integer>(static_cast<std::int64_t>(number)))
      return static_cast<Integer>(number);
  }
  throw NotAnInteger("expected a whole number that fits, found " +
                     (value.is_number() ? value.dump() : std::string(value.type_name())));
}

template <typename Integer, typename Json>
std::vector<Integer> integers_in(const Json& values) {
  if (!values.is_array())
    throw NotAnInteger("expected a list of whole numbers, found " + std::string(values.type_name()));
  std::vector<Integer> integers;
  for (const Json& value : values) integers.push_back(integer_in<Integer>(value));
  return integers;
}

}  // namespace eave
