#include "report/record/json_fields.h"

#include <algorithm>
#include <utility>

namespace eave {
namespace {

std::string kind_in_words(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_null()) return "null";
  return value.dump();
}

}  // namespace

JsonFields::JsonFields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (object.is_object()) return;
  const std::string name = path_.empty() ? "it" : path_.substr(0, path_.size() - 1);
  throw OutOfRange(name + " is " + kind_in_words(object) + ", but must be an object");
}

const Json& JsonFields::at(const char* name) const {
  const auto found = object_.find(name);
  if (found == object_.end()) throw OutOfRange("its field " + path_ + name + " is missing");
  return *found;
}

void JsonFields::refuse(const char* name, const Json& found, const char* expected) const {
  throw OutOfRange(path_ + name + " is " + kind_in_words(found) + ", but must be " + expected);
}

std::string JsonFields::text(const char* name) const {
  const Json& found = at(name);
  if (!found.is_string()) refuse(name, found, "a text");
  return found.get<std::string>();
}

bool JsonFields::flag(const char* name) const {
  const Json& found = at(name);
  if (!found.is_boolean()) refuse(name, found, "true or false");
  return found.get<bool>();
}

double JsonFields::number(const char* name) const {
  const Json& found = at(name);
  if (!found.is_number()) refuse(name, found, "a number");
  return found.get<double>();
}

double JsonFields::number_or_nan(const char* name) const { return at(name).is_null() ? std::nan("") : number(name); }

const Json& JsonFields::list(const char* name) const {
  const Json& found = at(name);
  if (!found.is_array()) refuse(name, found, "a list");
  return found;
}

std::vector<std::int64_t> JsonFields::integers(const char* name) const {
  const Json& found = list(name);
  try {
    return integers_in<std::int64_t>(found);
  } catch (const Json::exception&) {
    refuse(name, found, "a list of whole numbers");
  }
}

std::map<std::string, std::string> JsonFields::texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [name, unused] : object_.items()) texts[name] = text(name.c_str());
  return texts;
}

std::string why_unreadable(const Json::exception& error) {
  if (dynamic_cast<const Json::parse_error*>(&error)) return "it is no JSON";
  const bool is_ours = dynamic_cast<const OutOfRange*>(&error) || dynamic_cast<const AmbiguousJson*>(&error) ||
                       dynamic_cast<const UnknownFormat*>(&error) || dynamic_cast<const NotAnInteger*>(&error);
  return is_ours ? error.what() : "it is not as eave writes it";
}

std::string why_unreadable(const Json::exception& error, std::string_view text) {
  const auto* const parse = dynamic_cast<const Json::parse_error*>(&error);
  if (!parse) return why_unreadable(error);
  const std::string_view before = text.substr(0, parse->byte);
  return "line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) +
         " is no JSON, or the file ends too early";
}

}  // namespace eave
