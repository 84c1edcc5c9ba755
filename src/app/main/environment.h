// Reads environment variables whose names begin with EAVE_. They are settings of eave, variables of other software, or
// misspelt.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/options/option_sources.h"

namespace eave {

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
