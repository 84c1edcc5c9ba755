// metrics.jsonl as eave watch follows it, and what it shows.
#include <sstream>

#include "report/watch_screen.h"
#include "report/watched_run.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  eave::WatchedRun run;
  std::istringstream lines(eave::text_of({bytes, size}));
  for (std::string line; std::getline(lines, line);) run.take(line);
  for (const bool is_utf8 : {false, true}) {
    for (const eave::WatchPlot plot : {eave::WatchPlot::kLoss, eave::WatchPlot::kAccuracy}) {
      eave::watch_screen("fuzzed", run, {60, 20, is_utf8, plot});
    }
  }
  eave::watch_line(run);
  return 0;
}
