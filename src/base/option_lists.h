// Options that hold several values.
#pragma once

#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// What comes between separators in `text`, given by `option`. Throws Error (kUsage) where a part is empty.
std::vector<std::string> parts_of(const std::string& text, char separator, const OptionValues& values,
                                  const std::string& option);

// The option's own text between commas, each part once. Throws Error (kUsage) where one is empty or named twice.
std::vector<std::string> list_of(const OptionValues& values, const std::string& option);

}  // namespace eave
