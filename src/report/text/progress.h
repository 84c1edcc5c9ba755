// Shows the progress of a run on rank 0: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "eave/recorder.h"

namespace eave {

enum class ProgressStyle { kBar, kLines, kOff };

// Reads --progress. "auto" means a bar if standard error is shown on a terminal, else lines.
ProgressStyle progress_style(const std::string& word, bool by_launcher);

// "  (center; mean of the workers' parameters 85.00 %, best worker 86.00 %, distance 0.01)". Scores that were not
// computed are left out.
std::string describe_workers(const EvaluationRecord& record);

// Whether a run that has come so far counts epochs. A program may not tell the size of its training set.
bool has_epochs(double epoch, std::int64_t samples);

// "epoch 1.50  test accuracy 84.20 %  test loss 0.45", and what else is known of the consensus: bits per byte, and the
// score of its moving average.
std::string describe_test(const EvaluationRecord& record);

// "1200 samples/s"; "76800 tokens/s" if a sample has `tokens_per_sample` tokens, and not 0.
std::string rate_text(double samples_per_second, std::int64_t tokens_per_sample);

// Writes to standard error, since results use standard output. A bar is redrawn each time the trainer shows its state.
// With lines, there is one line every 10 seconds. Each evaluation adds a line in both styles.
class Progress {
 public:
  // `by_launcher`: mpirun or another launcher started this process.
  Progress(const std::string& style, bool by_launcher, std::int64_t steps, double epochs);
  // Removes the bar, so that an error message gets its own line.
  ~Progress() { clear_bar(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows tokens/s in place of samples/s. `tokens` is the number of a sample's tokens.
  void count_tokens(std::int64_t tokens) { tokens_per_sample_ = tokens; }
  void show(const StepRecord& glance);
  void show(const EvaluationRecord& record, bool has_center);
  void warn(const std::string& text);  // in all styles, on its own line
  void finish();                       // removes the bar

 private:
  std::string status(const StepRecord& record) const;
  void draw_bar(const StepRecord& record);
  void print_line(const StepRecord& record);
  void clear_bar();
  ProgressStyle style_;
  bool by_launcher_;
  std::int64_t steps_;
  double epochs_;
  std::int64_t tokens_per_sample_ = 0;  // 0: samples are not text
  double loss_ = -1;                    // smoothed
  std::chrono::steady_clock::time_point shown_;
  bool bar_drawn_ = false;
};

}  // namespace eave
