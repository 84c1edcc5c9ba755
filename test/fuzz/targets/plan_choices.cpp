// The file of autotuning's choices. The target reads the input, adds a choice from its first line, and expects all
// choices back after writing, which adds the hash of each line, and reading.
#include "device/plan_file.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  const std::string text = text_of(bytes), environment = "a GPU";
  Plans plans = parse_plans(text, environment);
  const std::size_t tab = text.find('\t'), line_end = text.find('\n', tab == std::string::npos ? 0 : tab);
  const bool is_line = tab != std::string::npos && text.find('\n') >= tab && text.find('\t', tab + 1) >= line_end;
  if (is_line) plans[text.substr(0, tab)] = text.substr(tab + 1, line_end - tab - 1);
  if (parse_plans(plans_text(plans, environment), environment) != plans) std::abort();
}
