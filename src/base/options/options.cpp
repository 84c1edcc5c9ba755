#include "eave/options.h"

#include <algorithm>
#include <utility>

#include "base/files/user_path.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "eave/check.h"

namespace eave {
namespace {

[[noreturn]] void refuse(const OptionValues::Entry& entry, const std::string& expected) {
  throw Error(ExitCode::kUsage,
              "--" + entry.spec.name + " " + entry.text + " (" + entry.source + "): expected " + expected);
}

template <typename Value>
Value value_of(const OptionValues::Entry& entry, Reading<Value> read(std::string_view)) {
  const Reading<Value> reading = read(entry.text);
  if (!reading.value) refuse(entry, reading.expected);
  return *reading.value;
}

bool same_meaning(const OptionSpec& a, const OptionSpec& b) {
  return a.type == b.type && a.default_text == b.default_text && a.choices == b.choices;
}

// Values are checked where they are set, so that the message can name the place they came from.
void check_value(const OptionValues& values, const OptionValues::Entry& entry) {
  const std::string& name = entry.spec.name;
  switch (entry.spec.type) {
    case OptionType::kText:
      if (!entry.spec.choices.empty() &&
          std::find(entry.spec.choices.begin(), entry.spec.choices.end(), entry.text) == entry.spec.choices.end()) {
        refuse(entry, "one of " + comma_list(entry.spec.choices) + did_you_mean(entry.text, entry.spec.choices));
      }
      break;
    case OptionType::kPath:
    case OptionType::kPaths:
      break;
    case OptionType::kInteger:
      values.integer(name, INT64_MIN);
      break;
    case OptionType::kReal:
      values.real(name);
      break;
    case OptionType::kFlag:
      values.flag(name);
      break;
    case OptionType::kBytes:
      values.bytes(name);
      break;
    case OptionType::kSeconds:
      values.seconds(name);
      break;
    case OptionType::kRate:
      values.bytes_per_second(name);
      break;
  }
}

// The text as it is stored: paths without ~, and all but free text without the blanks around it.
std::string kept_text(const OptionValues::Entry& entry) {
  const auto path = [&](const std::string& text) {
    const Reading<std::string> reading = read_path(text);
    if (!reading.value) refuse(entry, reading.expected);
    return *reading.value;
  };
  if (entry.spec.type == OptionType::kPath) return path(entry.text);
  if (entry.spec.type == OptionType::kText && entry.spec.choices.empty()) return entry.text;
  if (entry.spec.type != OptionType::kPaths) return std::string(trimmed(entry.text));
  std::string paths;
  for (const std::string& item : split_text(entry.text, ',')) paths += (paths.empty() ? "" : ",") + path(item);
  return paths;
}

}  // namespace

void OptionValues::declare(const OptionSpec& spec) {
  const auto found = entries_.find(spec.name);
  if (found != entries_.end()) {
    if (!same_meaning(found->second.spec, spec))
      throw Error(ExitCode::kInternal, "option --" + spec.name + " is declared twice, differently");
    return;
  }
  entries_[spec.name] = Entry{spec, spec.default_text, "default", false};
}

void OptionValues::set_default(std::string_view name, std::string text) {
  const auto found = entries_.find(name);
  EAVE_CHECK(found != entries_.end(), "option --" + std::string(name) + " has a default but is not declared");
  Entry& entry = found->second;
  entry.spec.default_text = text;
  if (!entry.is_set) entry.text = std::move(text);
}

void OptionValues::set(std::string_view name, std::string text, std::string source) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, unused] : entries_) names.push_back(known);
    throw Error(ExitCode::kUsage, "unknown option --" + std::string(name) + " (" + source + "); " +
                                      suggest_options(std::string(name), names));
  }
  Entry& entry = found->second;
  entry.text = std::move(text);
  entry.source = std::move(source);
  entry.is_set = true;
  entry.text = kept_text(entry);
  check_value(*this, entry);
}

const OptionValues::Entry& OptionValues::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  EAVE_CHECK(found != entries_.end(), "option --" + std::string(name) + " is read but not declared");
  return found->second;
}

bool OptionValues::has(std::string_view name) const {
  const Entry& found = entry(name);
  return found.is_set || !found.text.empty();
}

bool OptionValues::given(std::string_view name) const { return entry(name).is_set; }

const std::string& OptionValues::text(std::string_view name) const { return entry(name).text; }

std::int64_t OptionValues::integer(std::string_view name, std::int64_t minimum, std::int64_t maximum) const {
  const std::int64_t number = value_of(entry(name), read_integer);
  if (number < minimum) refuse(entry(name), "at least " + std::to_string(minimum));
  if (number > maximum) refuse(entry(name), "at most " + std::to_string(maximum));
  return number;
}

std::uint64_t OptionValues::seed(std::string_view name) const {
  return static_cast<std::uint64_t>(integer(name, 0, INT64_MAX));
}

double OptionValues::real(std::string_view name) const { return value_of(entry(name), read_real); }

bool OptionValues::flag(std::string_view name) const {
  const Entry& found = entry(name);
  return found.text.empty() || value_of(found, read_flag);
}

std::int64_t OptionValues::bytes(std::string_view name) const { return value_of(entry(name), read_bytes); }

double OptionValues::seconds(std::string_view name) const { return value_of(entry(name), read_seconds); }

double OptionValues::bytes_per_second(std::string_view name) const { return value_of(entry(name), read_rate); }

}  // namespace eave
