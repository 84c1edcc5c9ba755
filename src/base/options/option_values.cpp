#include "base/options/option_values.h"

#include <algorithm>
#include <set>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "eave/check.h"

namespace eave {

double real_in(const OptionValues& values, const std::string& name, double minimum, double limit) {
  const double value = values.real(name);
  if (value >= minimum && value < limit) return value;
  refuse_option(values, name, "expected at least " + number_text(minimum) + " and below " + number_text(limit));
}

double positive_real_in(const OptionValues& values, const std::string& name) {
  const double value = values.real(name);
  if (value > 0) return value;
  refuse_option(values, name, "expected a number above 0");
}

void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason) {
  const OptionValues::Entry& entry = values.entry(name);
  throw Error(ExitCode::kUsage, "--" + name + " " + entry.text + " (" + entry.source + "): " + reason);
}

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.emplace_back(trimmed(std::string_view(text).substr(begin, end == std::string::npos ? end : end - begin)));
  }
  return parts;
}

std::vector<std::string> parts_of(const std::string& text, char separator, const OptionValues& values,
                                  const std::string& option, const std::string& what) {
  std::vector<std::string> parts = split_text(text, separator);
  const auto empty = std::ranges::find(parts, "");
  if (empty == parts.end()) return parts;
  const std::string which = text == values.text(option) ? "" : " of '" + text + "'";
  refuse_option(values, option,
                what + " " + std::to_string(empty - parts.begin() + 1) + which + " is empty; give " + what +
                    "s with '" + separator + "' between them");
}

std::vector<std::string> list_of(const OptionValues& values, const std::string& option) {
  std::vector<std::string> list = parts_of(values.text(option), ',', values, option);
  std::set<std::string> seen;
  for (const std::string& each : list) {
    if (!seen.insert(each).second) refuse_option(values, option, "names " + each + " twice");
  }
  return list;
}

std::int64_t integer_item(const std::string& item, const OptionValues& values, const std::string& option,
                          std::int64_t minimum, std::int64_t maximum) {
  const Reading<std::int64_t> number = read_integer(item);
  if (!number.value) refuse_option(values, option, "'" + item + "': expected " + number.expected);
  if (*number.value >= minimum && *number.value <= maximum) return *number.value;
  refuse_option(
      values, option,
      "'" + item + "': expected a whole number from " + std::to_string(minimum) + " to " + std::to_string(maximum));
}

double real_item(const std::string& item, const OptionValues& values, const std::string& option) {
  const Reading<double> number = read_real(item);
  if (!number.value) refuse_option(values, option, "'" + item + "': expected " + number.expected);
  return *number.value;
}

std::vector<int> integers_of(const OptionValues& values, const std::string& option, int minimum, int maximum) {
  std::vector<int> numbers;
  std::set<int> seen;
  for (const std::string& item : list_of(values, option)) {
    numbers.push_back(static_cast<int>(integer_item(item, values, option, minimum, maximum)));
    if (!seen.insert(numbers.back()).second) refuse_option(values, option, "names " + item + " twice");
  }
  return numbers;
}

}  // namespace eave
