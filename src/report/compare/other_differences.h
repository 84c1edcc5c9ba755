// Notes on what else differs between methods that are compared: it may explain a result, or the times.
#pragma once

#include <string>

#include "report/compare/comparison.h"

namespace eave {

// Each returns a sentence, or "" if nothing differs. They need Comparison::cells.
std::string on_other_settings(const Comparison& comparison);  // of training, besides the methods' names
std::string on_versions(const Comparison& comparison);        // of eave
std::string on_hosts(const Comparison& comparison);

}  // namespace eave
