// Reads single entries of a config.json of transformers, which is not trusted.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/options/number_text.h"
#include "base/printable.h"
#include "eave/check.h"

namespace eave {

using ConfigJson = nlohmann::ordered_json;

// Reads entries of a config.json. An entry that is not there, or null, has the value of transformers: `otherwise`.
class ConfigEntries {
 public:
  ConfigEntries(std::string path, const ConfigJson& config) : path_(std::move(path)), config_(config) {}

  double number(const char* name, double otherwise, double least, double most) const {
    const ConfigJson* const entry = find(name);
    if (entry == nullptr) return otherwise;
    const double value = entry->is_number() ? entry->get<double>() : std::nan("");
    if (!(value >= least && value <= most)) {
      refuse(std::string(name) + " is " + shown(*entry) + ", expected a number from " + limit_text(least) + " to " +
                 limit_text(most),
             ExitCode::kBadData);
    }
    return value;
  }
  // As number(), but refuses a config.json without the entry.
  double needed_number(const char* name, double least, double most) const {
    if (find(name) == nullptr) refuse(std::string(name) + " is missing", ExitCode::kBadData);
    return number(name, least, least, most);
  }
  int count(const char* name, int otherwise, int most) const {
    const double value = number(name, otherwise, 1, most);
    if (value != std::trunc(value)) refuse(std::string(name) + " is no whole number", ExitCode::kBadData);
    return static_cast<int>(value);
  }
  float rate(const char* name, double otherwise) const {
    const auto value = static_cast<float>(number(name, otherwise, 0, 1));
    if (value >= 1) refuse(std::string(name) + " is 1, expected less than 1", ExitCode::kBadData);
    return value;
  }
  bool flag(const char* name, bool otherwise) const {
    const ConfigJson* const entry = find(name);
    if (entry == nullptr) return otherwise;
    if (!entry->is_boolean())
      refuse(std::string(name) + " is " + shown(*entry) + ", expected true or false", ExitCode::kBadData);
    return entry->get<bool>();
  }
  std::string word(const char* name, const std::string& otherwise) const {
    const ConfigJson* const entry = find(name);
    if (entry == nullptr) return otherwise;
    return entry->is_string() ? entry->get<std::string>() : shown(*entry);
  }
  // Whether the entry, a list, has this word; `otherwise` if there is no such entry.
  bool lists(const char* name, const char* word, bool otherwise) const {
    const ConfigJson* const entry = find(name);
    if (entry == nullptr) return otherwise;
    if (!entry->is_array())
      refuse(std::string(name) + " is " + shown(*entry) + ", expected a list", ExitCode::kBadData);
    return std::ranges::find(*entry, word) != entry->end();
  }
  // The place of the entry's word in `known`.
  std::ptrdiff_t choice(const char* name, const std::vector<std::string>& known, const std::string& otherwise) const {
    const std::string found = word(name, otherwise);
    const auto place = std::ranges::find(known, found);
    if (place == known.end()) {
      std::string listed;
      for (const std::string& each : known) listed += (listed.empty() ? "" : ", ") + each;
      refuse(std::string(name) + " is " + found + "; eave reads only " + listed);
    }
    return place - known.begin();
  }
  // Refuses what eave's layers do not have.
  void refuse_if_on(const char* name) const {
    const ConfigJson* const entry = find(name);
    const bool is_off = entry == nullptr || (entry->is_boolean() && !entry->get<bool>());
    if (!is_off) refuse(std::string(name) + " is on, and eave has no layer for it");
  }
  // An entry that holds entries; nullptr if it is not there.
  const ConfigJson* entries(const char* name) const {
    const ConfigJson* const entry = find(name);
    if (entry != nullptr && !entry->is_object())
      refuse(std::string(name) + " is " + shown(*entry) + ", expected names with values", ExitCode::kBadData);
    return entry;
  }
  bool is_null(const char* name) const { return config_.contains(name) && config_[name].is_null(); }
  const std::string& path() const { return path_; }
  [[noreturn]] void refuse(const std::string& why, ExitCode code = ExitCode::kConfiguration) const {
    throw Error(code, path_ + ": " + printable(why));
  }

 private:
  static std::string limit_text(double limit) { return exact_text(static_cast<float>(limit)); }
  const ConfigJson* find(const char* name) const {
    const auto entry = config_.find(name);
    return entry == config_.end() || entry->is_null() ? nullptr : &*entry;
  }
  static std::string shown(const ConfigJson& entry) {
    return entry.dump(-1, ' ', true, ConfigJson::error_handler_t::replace).substr(0, 60);
  }

  const std::string path_;
  const ConfigJson& config_;
};

}  // namespace eave
