#include "base/options/option_checks.h"

#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {

double real_in(const OptionValues& values, const std::string& name, double minimum, double limit) {
  const double value = values.real(name);
  if (value >= minimum && value < limit) return value;
  refuse_option(values, name, "expected at least " + number_text(minimum) + " and below " + number_text(limit));
}

double positive_real_in(const OptionValues& values, const std::string& name) {
  const double value = values.real(name);
  if (value > 0) return value;
  refuse_option(values, name, "expected a number above 0");
}

void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason) {
  const OptionValues::Entry& entry = values.entry(name);
  throw Error(ExitCode::kUsage, "--" + name + " " + entry.text + " (" + entry.source + "): " + reason);
}

}  // namespace eave
