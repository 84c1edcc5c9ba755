// Variables whose names begin with EAVE_: settings of eave, others' variables, and slips.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "app/assignments.h"

namespace eave {

struct Environment {
  std::vector<Assignment> settings;  // of declared options
  std::vector<std::string> unknown;  // variables that are neither settings nor known to be somebody else's
};

// `values` knows the declared options; `environment` is main's, null-terminated. Variables that Kubernetes sets in
// every pod for a service called eave or eave-… (EAVE_PORT, EAVE_SERVICE_HOST …), that environment modules set
// (EAVE_ROOT, EAVE_VERSION …), that eave's own tests use and that are options of other commands are passed over. Throws
// Error(kUsage) for what is probably a misspelt option, and for two variables of one option.
Environment read_environment(const char* const* environment, const OptionValues& values);

// The variables in `environment` but for those of the options called so, null-terminated.
std::vector<const char*> environment_without(const char* const* environment, const std::set<std::string>& names);

// "EAVE_A and EAVE_B are no options of eave, and have no effect"; "" when there are none.
std::string describe_unknown_variables(const std::vector<std::string>& unknown);

}  // namespace eave
