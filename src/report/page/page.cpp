#include "report/page/page.h"

#include "eave/check.h"
#include "report/page/page_data.h"

namespace eave {
namespace {

constexpr std::string_view kPlaceholder = "/*EAVE_DATA*/null";

// Dumps JSON as ASCII, so that U+2028 and U+2029 cannot end a line of the script. "<" occurs only inside texts.
std::string script_safe(const Json& data) {
  std::string safe;
  for (const char byte : data.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (byte == '<') {
      safe += "\\u003c";
    } else {
      safe += byte;
    }
  }
  return safe;
}

}  // namespace

std::string report_page(const Comparison& comparison, const PageFacts& facts) {
  std::string page(page_template());
  const std::size_t place = page.find(kPlaceholder);
  EAVE_CHECK(place != std::string::npos, "page.html has no place for its data");
  return page.replace(place, kPlaceholder.size(), script_safe(page_data(comparison, facts)));
}

}  // namespace eave
