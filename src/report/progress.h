// What rank 0 shows while a run goes on: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "eave/recorder.h"

namespace eave {

enum class ProgressStyle { kBar, kLines, kOff };

// "auto" is a bar when standard error shows on a terminal, else lines.
ProgressStyle progress_style(const std::string& word, bool by_launcher);

// "  (center; mean of workers 85.00 %, best worker 86.00 %, distance 0.01)", or without scores that were not taken.
std::string describe_workers(const EvaluationRecord& record);

// Writes to standard error; standard output is left to results. A bar is drawn anew at each glance of the trainer; in
// lines style there is one line every 10 seconds. Both get a line per evaluation.
class Progress {
 public:
  // `by_launcher`: mpirun or the like started this process.
  Progress(const std::string& style, bool by_launcher, std::int64_t steps, double epochs);
  // Takes the bar away, so that a message of what ended the run stands on a line of its own.
  ~Progress() { clear_bar(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const StepRecord& glance);
  void show(const EvaluationRecord& record, bool has_center);
  void warn(const std::string& text);  // in all styles, on a line of its own
  void finish();                       // takes the bar away

 private:
  std::string status(const StepRecord& record) const;
  void draw_bar(const StepRecord& record);
  void print_line(const StepRecord& record);
  void clear_bar();
  ProgressStyle style_;
  bool by_launcher_;
  std::int64_t steps_;
  double epochs_;
  double loss_ = -1;  // smoothed
  std::chrono::steady_clock::time_point shown_;
  bool bar_drawn_ = false;
};

}  // namespace eave
