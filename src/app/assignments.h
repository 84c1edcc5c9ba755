// What each of the places says that options can come from. Names and values are as found there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "eave/options.h"

namespace eave {

struct Assignment {
  std::string name, text, source;
};

// `values` knows the declared options. Each throws Error(kUsage) for what cannot be read as options, a file also
// kInputMissing.
std::vector<Assignment> from_command_line(const std::vector<std::string>& words, const OptionValues& values);
std::vector<Assignment> from_file(const std::string& path, const OptionValues& values);
std::vector<Assignment> from_environment(const char* const* environment);  // null-terminated

bool is_utf8(std::string_view text);  // as every line of a file of options is

// The last value of `name`; "" where it has none.
std::string text_of(const std::vector<Assignment>& assignments, const std::string& name);
// Throws Error(kUsage): unknown names, values that are missing or wrong.
void assign(OptionValues& values, const std::vector<Assignment>& assignments);

}  // namespace eave
