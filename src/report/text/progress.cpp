#include "report/text/progress.h"

#include <cmath>
#include <cstdio>

#include "base/options/quantities.h"
#include "base/printable.h"
#include "report/record/metric.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr double kLineSeconds = 10;
constexpr int kBarWidth = 24;

// "epoch 1.50", or "step 600" if the run has no epochs.
std::string place_text(const EvaluationRecord& record) {
  return has_epochs(record.epoch, record.samples) ? format("epoch %.2f", record.epoch)
                                                  : format("step %lld", static_cast<long long>(record.step));
}

}  // namespace

ProgressStyle progress_style(const std::string& word, bool by_launcher) {
  if (word == "bar") return ProgressStyle::kBar;
  if (word == "lines") return ProgressStyle::kLines;
  if (word == "off") return ProgressStyle::kOff;
  return terminal_columns(by_launcher) > 0 ? ProgressStyle::kBar : ProgressStyle::kLines;
}

Progress::Progress(const std::string& style, bool by_launcher, std::int64_t steps, double epochs)
    : style_(progress_style(style, by_launcher)),
      by_launcher_(by_launcher),
      steps_(steps),
      epochs_(epochs),
      shown_(std::chrono::steady_clock::now()) {}

std::string Progress::status(const StepRecord& record) const {
  const double left = record.seconds / static_cast<double>(record.step) * static_cast<double>(steps_ - record.step);
  const double samples = static_cast<double>(record.samples) / std::max(record.seconds, 1e-9);
  return format("epoch %.2f/%.4g  step %lld/%lld  loss %s  lr %.4g  %s  %s left", record.epoch, epochs_,
                static_cast<long long>(record.step), static_cast<long long>(steps_), loss_text(loss_).c_str(),
                record.learning_rate, rate_text(samples, tokens_per_sample_).c_str(), clock_text(left).c_str());
}

void Progress::show(const StepRecord& record) {
  if (style_ == ProgressStyle::kOff) return;
  if (std::isfinite(record.loss)) loss_ = loss_ < 0 ? record.loss : 0.8 * loss_ + 0.2 * record.loss;
  style_ == ProgressStyle::kBar ? draw_bar(record) : print_line(record);
}

void Progress::print_line(const StepRecord& record) {
  const auto now = std::chrono::steady_clock::now();
  if (std::chrono::duration<double>(now - shown_).count() < kLineSeconds) return;
  shown_ = now;
  std::fprintf(stderr, "%s\n", status(record).c_str());
}

void Progress::draw_bar(const StepRecord& record) {
  const auto filled = static_cast<int>(kBarWidth * record.step / steps_);
  const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                          std::string(static_cast<std::size_t>(kBarWidth - filled), '.');
  const std::string line = "[" + bar + "] " + status(record);
  const auto columns = static_cast<std::size_t>(std::max(terminal_columns(by_launcher_), 20));
  std::fprintf(stderr, "\r%s\033[K", line.substr(0, columns - 1).c_str());
  bar_drawn_ = true;
}

std::string rate_text(double samples_per_second, std::int64_t tokens_per_sample) {
  return tokens_per_sample > 0
             ? decimal_text(samples_per_second * static_cast<double>(tokens_per_sample), 0) + " tokens/s"
             : decimal_text(samples_per_second, 0) + " samples/s";
}

std::string describe_workers(const EvaluationRecord& record) {
  std::string line = "  (center; ";
  if (record.workers) {
    line += "mean of the workers' parameters " + score_text(record.metric, record.workers->mean.accuracy) +
            ", best worker " + score_text(record.metric, record.workers->best.accuracy) + ", ";
  }
  return line + format("distance %.3g)", record.distance_mean);
}

bool has_epochs(double epoch, std::int64_t samples) { return epoch > 0 || samples == 0; }

std::string describe_test(const EvaluationRecord& record) {
  std::string line =
      format("%s  test %s  test loss %s", place_text(record).c_str(),
             named_score(record.metric, record.center.accuracy).c_str(), loss_text(record.center.loss).c_str());
  if (record.bits_per_byte) line += format("  %.4g bits per byte", *record.bits_per_byte);
  if (record.ema) line += "  moving average " + score_text(record.metric, record.ema->accuracy);
  return line;
}

void Progress::clear_bar() {
  if (bar_drawn_) std::fputs("\r\033[K", stderr);
  bar_drawn_ = false;
}

void Progress::show(const EvaluationRecord& record, bool has_center) {
  if (style_ == ProgressStyle::kOff) return;
  clear_bar();
  std::string line = describe_test(record);
  if (has_center) line += describe_workers(record);
  std::fprintf(stderr, "%s  %.1f s\n", line.c_str(), record.seconds);
}

void Progress::warn(const std::string& text) {
  clear_bar();
  std::fprintf(stderr, "eave: warning: %s\n", printable(text).c_str());
}

void Progress::finish() { clear_bar(); }

}  // namespace eave
