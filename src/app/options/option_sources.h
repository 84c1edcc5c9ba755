// Reads assignments of options from the command line, a file and the environment.
#pragma once

#include <set>
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

// Whether the option may be given without a value, which then means "on": flags, and options with a choice "on".
bool may_stand_alone(const OptionSpec& spec);
// Whether the value is in quotes, which an options file does not have. Only free text may begin with one and go on.
bool has_quotes(const OptionSpec& spec, const std::string& text);
bool is_utf8(std::string_view text);  // every line of an options file must be UTF-8

// The last value given to `name`; "" if there is none.
std::string text_of(const std::vector<Assignment>& assignments, const std::string& name);
// Sets the values. Throws Error(kUsage): unknown names, missing or wrong values.
void assign(OptionValues& values, const std::vector<Assignment>& assignments);

struct Environment {
  std::vector<Assignment> settings;  // values of declared options
  // Variables that are neither settings nor known to belong to other software.
  std::vector<std::string> unknown;
};

// `values` has the declared options; `environment` is main's, null-terminated. These variables are skipped:
// - those that Kubernetes sets in every pod for a service called eave or eave-… (EAVE_PORT, EAVE_SERVICE_HOST, …);
// - those that environment modules set (EAVE_ROOT, EAVE_VERSION, …);
// - those that eave's own tests use;
// - options of other commands.
//
// Throws Error(kUsage) if a name is probably a misspelt option, or if two variables set one option differently.
Environment read_environment(const char* const* environment, const OptionValues& values);

// A null-terminated copy of `environment` without the variables that set the options in `names`.
std::vector<const char*> environment_without(const char* const* environment, const std::set<std::string>& names);

// "EAVE_A and EAVE_B are no options of eave, and have no effect"; "" when there are none.
std::string describe_unknown_variables(const std::vector<std::string>& unknown);

}  // namespace eave
