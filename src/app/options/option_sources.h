// Reads options from the command line, a file and the environment. Names and values stay as they are written there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "eave/options.h"

namespace eave {

struct Assignment {
  std::string name, text, source;
};

// `values` has the declared options. Each function throws Error(kUsage) for text that is not an option. from_file also
// throws kInputMissing.
std::vector<Assignment> from_command_line(const std::vector<std::string>& words, const OptionValues& values);
std::vector<Assignment> from_file(const std::string& path, const OptionValues& values);
std::vector<Assignment> from_environment(const char* const* environment);  // `environment` is null-terminated

bool is_utf8(std::string_view text);  // every line of an options file must be UTF-8

// The last value given to `name`; "" if there is none.
std::string text_of(const std::vector<Assignment>& assignments, const std::string& name);
// Sets the values. Throws Error(kUsage): unknown names, missing or wrong values.
void assign(OptionValues& values, const std::vector<Assignment>& assignments);

}  // namespace eave
