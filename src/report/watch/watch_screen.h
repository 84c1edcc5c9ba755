// Formats the state of a running run for `eave watch`.
#pragma once

#include <string>
#include <vector>

#include "report/text/terminal.h"
#include "report/watch/watched_run.h"

namespace eave {

enum class WatchPlot { kLoss, kAccuracy, kOff };

struct ScreenStyle {
  int columns = 80, rows = 24;
  bool is_utf8 = false;
  WatchPlot plot = WatchPlot::kLoss;
};

// Makes text from another program safe for a terminal: control characters become '?' (base/printable.h), and without
// `is_utf8` so do all bytes that are not ASCII.
std::string shown_text(const std::string& text, bool is_utf8);

// The lines of a screen, at most style.rows lines of at most style.columns characters.
std::vector<std::string> watch_screen(const std::string& name, const WatchedRun& run, const ScreenStyle& style);

// The same on one line, for output that is not a terminal.
std::string watch_line(const WatchedRun& run);
std::string evaluation_line(const EvaluationRecord& record);

}  // namespace eave
