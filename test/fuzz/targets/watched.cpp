// metrics.jsonl as eave watch follows it, and the screen that it shows. The first byte chooses one of four screens.
#include <sstream>

#include "report/watch/watch_screen.h"
#include "report/watch/watched_run.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  WatchedRun run;
  std::istringstream lines(text_of(bytes.subspan(1)));
  for (std::string line; std::getline(lines, line);) run.take(line);
  const bool is_utf8 = bytes[0] % 2 != 0;
  const WatchPlot plot = bytes[0] / 2 % 2 == 0 ? WatchPlot::kLoss : WatchPlot::kAccuracy;
  watch_screen("fuzzed", run, {60, 20, is_utf8, plot});
  watch_line(run);
}
