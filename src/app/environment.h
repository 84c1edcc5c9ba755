// Variables whose names begin with EAVE_: settings of eave, others' variables, and slips.
#pragma once

#include <string>
#include <vector>

#include "app/assignments.h"

namespace eave {

struct Environment {
  std::vector<Assignment> settings;  // of declared options
  std::vector<std::string> unknown;  // variables that are neither settings nor known to be somebody else's
};

// `values` knows the declared options; `environment` is main's, null-terminated. Variables that Kubernetes sets in
// every pod for a service called eave (EAVE_PORT, EAVE_SERVICE_HOST …), that environment modules set (EAVE_ROOT,
// EAVE_VERSION …) and that eave's own tests use are passed over. Throws Error(kUsage) for what is probably a misspelt
// option, and for two variables of one option.
Environment read_environment(const char* const* environment, const OptionValues& values);

// "EAVE_A and EAVE_B are no options of eave, and have no effect"; "" when there are none.
std::string describe_unknown_variables(const std::vector<std::string>& unknown);

}  // namespace eave
