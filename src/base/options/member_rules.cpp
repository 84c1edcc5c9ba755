#include "base/options/member_rules.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/printable.h"

namespace eave {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_name(const std::string& text, std::string_view separators) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto may_follow = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || separators.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kLongestName && is_letter(text.front()) &&
         std::ranges::all_of(text, may_follow);
}

// The message of the getter that would read the default.
std::string fault_of_default(const OptionSpec& option) {
  if (option.default_text.empty()) return "";
  try {
    OptionValues values;
    values.declare(option);
    values.set(option.name, option.default_text, "its default");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool is_line(const std::string& text) { return printable(text) == text; }

// A comma separates words in lists of options, a colon the settings of a method in `eave compare`.
std::string fault_of_choices(const OptionSpec& option) {
  const auto can_be_typed = [](const std::string& choice) {
    return !choice.empty() && is_line(choice) && choice.find_first_of(" ,:|") == std::string::npos;
  };
  return std::ranges::all_of(option.choices, can_be_typed)
             ? ""
             : "a choice of option --" + option.name + " is empty, or has a blank, comma, colon, bar or control code";
}

std::string fault_of_option(const OptionSpec& option) {
  if (!is_name(option.name, "-"))
    return "the name of option '" + option.name +
           "' is not made of lower-case letters, digits and -, beginning with a letter, such as my-rate, in at most " +
           std::to_string(kLongestName) + " characters";
  if (option.help.empty() || !is_line(option.help))
    return "the help of option --" + option.name + " is not one line of printable text";
  if (!is_line(option.default_text))
    return "the default of option --" + option.name + " is not one line of printable text";
  const std::string fault = fault_of_choices(option);
  return fault.empty() ? fault_of_default(option) : fault;
}

}  // namespace

std::string fault_of_name(const std::string& name) {
  if (is_name(name, "-_")) return "";
  return "a name is made of lower-case letters, digits, - and _, and begins with a letter, such as soft-sync; it has "
         "at most " +
         std::to_string(kLongestName) + " characters";
}

std::string fault_of_summary(const std::string& summary) {
  if (summary.empty()) return "it has no summary, which is its line in --help";
  return printable(summary) == summary ? "" : "its summary is not one line of printable text";
}

std::string fault_of_options(const std::vector<OptionSpec>& options) {
  std::set<std::string> names;
  for (const OptionSpec& option : options) {
    if (!names.insert(option.name).second) return "the option --" + option.name + " is declared twice";
    if (std::string fault = fault_of_option(option); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace eave
