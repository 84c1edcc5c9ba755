// What is seen of a run while it goes on.
#pragma once

#include <string>
#include <vector>

#include "report/text_plot.h"
#include "report/watched_run.h"

namespace eave {

enum class WatchPlot { kLoss, kAccuracy, kOff };

struct ScreenStyle {
  int columns = 80, rows = 24;
  bool is_utf8 = false;
  WatchPlot plot = WatchPlot::kLoss;
};

// A text that may come from elsewhere, as a terminal can show it: without control characters, and without `is_utf8` in
// ASCII.
std::string shown_text(const std::string& text, bool is_utf8);

// The lines of a screen, none longer than it is wide, and at most as many as it is high.
std::vector<std::string> watch_screen(const std::string& name, const WatchedRun& run, const ScreenStyle& style);

// The same on one line, for what is no terminal.
std::string watch_line(const WatchedRun& run);
std::string evaluation_line(const EvaluationRecord& record);

}  // namespace eave
