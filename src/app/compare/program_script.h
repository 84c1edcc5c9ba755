// The script that `eave compare --program` runs. Runs of two scripts are no comparison.
#pragma once

#include <string>

#include "app/compare/program_launch.h"

namespace eave {

inline constexpr const char* kScriptSetting = "program-script";  // in comparison.json

// The script that the command runs: its first word, if that file begins with "#!", else the first word that names a
// file with the suffix of a script. "" if there is none: `python3 -m pkg.train`.
std::string script_of(const Words& command);

// The script and a hash of it: "train.py 0123..."; "" if there is none that can be read.
std::string identity_of_script(const Words& command);

// Throws Error(kConfiguration) if the runs in `place` are those of another script. Both scripts are from
// identity_of_script, and `saved` is not "".
void require_same_script(const std::string& saved, const std::string& mine, const std::string& place);

}  // namespace eave
