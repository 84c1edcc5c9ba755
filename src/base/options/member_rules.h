// Rules for members of families (communicators, codecs, …), so that each can be typed, listed, compared and stored.
#pragma once

#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/options.h"

namespace eave {

// Each returns what is wrong, as the end of a message, or "".
// A name begins with a lower-case letter. Lower-case letters, digits, - and _ follow. It has at most 64 letters.
std::string fault_of_name(const std::string& name);
// A summary is one line of printable text.
std::string fault_of_summary(const std::string& summary);
// The name of an option is such a name without _. An option is declared once. Its help is one line of printable text,
// each of its choices is one word without comma and colon, and its default is a value that it accepts.
std::string fault_of_options(const std::vector<OptionSpec>& options);

template <typename Kind>
std::string fault_of_member(const Kind& kind) {
  std::string fault = fault_of_name(kind.name);
  if constexpr (requires { kind.summary; }) {
    if (fault.empty()) fault = fault_of_summary(kind.summary);
  }
  if constexpr (requires { kind.options; }) {
    if (fault.empty()) fault = fault_of_options(kind.options);
  }
  return fault;
}

// Returns `kinds`. Throws Error(kInternal) if a member breaks a rule, or if two have one name.
template <typename Kind>
std::vector<Kind> checked_members(const std::string& family, std::vector<Kind> kinds) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::string fault = fault_of_member(kinds[i]);
    for (std::size_t before = 0; before < i; ++before)
      if (kinds[before].name == kinds[i].name) fault = "two members have this name; give one another name";
    if (!fault.empty()) throw Error(ExitCode::kInternal, family + " '" + kinds[i].name + "': " + fault);
  }
  return kinds;
}

}  // namespace eave
