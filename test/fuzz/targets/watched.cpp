// metrics.jsonl as eave watch follows it, and the screen that it shows. The first byte chooses one of four screens.
#include <sstream>

#include "report/watch/watch_screen.h"
#include "report/watch/watched_run.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  eave::WatchedRun run;
  std::istringstream lines(eave::text_of({bytes + 1, size - 1}));
  for (std::string line; std::getline(lines, line);) run.take(line);
  const bool is_utf8 = bytes[0] % 2 != 0;
  const eave::WatchPlot plot = bytes[0] / 2 % 2 == 0 ? eave::WatchPlot::kLoss : eave::WatchPlot::kAccuracy;
  eave::watch_screen("fuzzed", run, {60, 20, is_utf8, plot});
  eave::watch_line(run);
  return 0;
}
