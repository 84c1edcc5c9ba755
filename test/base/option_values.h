// Options as tests give them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "eave/options.h"

namespace eave {

using Given = std::vector<std::pair<std::string, std::string>>;  // name, text

inline OptionValues values_of(const std::vector<OptionSpec>& specs, const Given& given) {
  OptionValues values;
  for (const OptionSpec& spec : specs) values.declare(spec);
  for (const auto& [name, text] : given) values.set(name, text, "command line");
  return values;
}

}  // namespace eave
