// The file of autotuning's choices. The target reads the input, adds a choice from its first line, and expects all
// choices back after writing, which adds the hash of each line, and reading.
#include "device/plan_file.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text = eave::text_of({bytes, size}), environment = "a GPU";
  eave::Plans plans = eave::parse_plans(text, environment);
  const std::size_t tab = text.find('\t'), line_end = text.find('\n', tab == std::string::npos ? 0 : tab);
  const bool is_line = tab != std::string::npos && text.find('\n') >= tab && text.find('\t', tab + 1) >= line_end;
  if (is_line) plans[text.substr(0, tab)] = text.substr(tab + 1, line_end - tab - 1);
  if (eave::parse_plans(eave::plans_text(plans, environment), environment) != plans) std::abort();
  return 0;
}
