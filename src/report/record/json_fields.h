// Reads fields of JSON objects by name. Its error messages name the field, which those of the JSON library do not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/formats/strict_json.h"
#include "report/read/field_checks.h"
#include "report/record/json.h"

namespace eave {

// The fields of one object, which must outlive this reader. Each function that reads throws OutOfRange, which names the
// field, if the field is missing or has another type.
class JsonFields {
 public:
  // Messages put `path`, such as "center.", before a field's name.
  explicit JsonFields(const Json& object, std::string path = "");

  bool has(const char* name) const { return object_.contains(name); }
  const Json& at(const char* name) const;
  // The fields of the object that is the field `name`.
  JsonFields in(const char* name) const { return JsonFields(at(name), path_ + name + "."); }

  std::string text(const char* name) const;
  double number(const char* name) const;
  double number_or_nan(const char* name) const;  // null is read as NaN, which JSON cannot hold
  std::vector<std::int64_t> integers(const char* name) const;
  std::map<std::string, std::string> texts() const;  // all fields, which must be texts
  const Json& list(const char* name) const;

  template <typename Value>
  void take(const char* name, Value& value) const {
    if constexpr (std::is_same_v<Value, std::string>) {
      value = text(name);
    } else if constexpr (std::is_same_v<Value, bool>) {
      value = flag(name);
    } else if constexpr (std::is_integral_v<Value>) {
      value = integer<Value>(name);
    } else {
      value = number(name);
    }
  }
  template <typename Value>
  void take_if_there(const char* name, Value& value) const {
    if (has(name)) take(name, value);
  }

 private:
  bool flag(const char* name) const;
  template <typename Integer>
  Integer integer(const char* name) const {
    const Json& found = at(name);
    try {
      return integer_in<Integer>(found);
    } catch (const Json::exception&) {
      refuse(name, found, "a whole number that fits");
    }
  }
  [[noreturn]] void refuse(const char* name, const Json& found, const char* expected) const;

  const Json& object_;
  const std::string path_;
};

// Says why one line, or the whole text of a file, could not be read: "line 3 is no JSON, or the file ends too early".
// If the error is one of eave's own, its message is used.
std::string why_unreadable(const Json::exception& error);
std::string why_unreadable(const Json::exception& error, std::string_view text);

// The end of a message about a file that is damaged or contradicts itself: what the person can do.
inline constexpr const char* kPutBack = "; put back a copy of it, or train anew in another directory";

}  // namespace eave
