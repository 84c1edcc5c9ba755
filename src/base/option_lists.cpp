#include "app/option_lists.h"

#include <set>
#include <sstream>

#include "base/option_checks.h"

namespace eave {

std::vector<std::string> parts_of(const std::string& text, char separator, const OptionValues& values,
                                  const std::string& option) {
  std::vector<std::string> parts;
  std::istringstream stream(text + separator);
  for (std::string part; std::getline(stream, part, separator);) {
    if (part.empty()) refuse_option(values, option, "has an empty part");
    parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> list_of(const OptionValues& values, const std::string& option) {
  std::vector<std::string> list = parts_of(values.text(option), ',', values, option);
  std::set<std::string> seen;
  for (const std::string& each : list) {
    if (!seen.insert(each).second) refuse_option(values, option, "names " + each + " twice");
  }
  return list;
}

}  // namespace eave
