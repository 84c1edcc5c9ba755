// Implements `eave watch`: shows a run while it goes on.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include "app/commands/text_printer.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/resume/missing_model.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/thread.h"
#include "eave/check.h"
#include "report/record/metric.h"
#include "report/record/run_directory.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"
#include "report/watch/watch_screen.h"
#include "report/watch/watched_runs.h"

namespace eave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kQuietSeconds = 15;

// Ends the watch on Ctrl-C and similar signals, whichever thread receives them: between two polls, or during one that
// takes long.
class EndingSignals {
 public:
  explicit EndingSignals(bool is_once) : is_once_(is_once) {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    thread_ = start_thread("to hear signals", [this] { wait(); });
  }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;
  ~EndingSignals() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    pthread_kill(thread_.native_handle(), SIGTERM);  // wakes the thread that waits for signals
    thread_.join();
  }

  // Waits. Returns true as soon as a signal has arrived, or false after `seconds`.
  bool come_within(double seconds) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return signal_ != 0; });
  }

 private:
  void wait() {
    constexpr std::chrono::milliseconds kMoment{100};
    int signal = 0;
    sigwait(&set_, &signal);
    std::unique_lock lock(mutex_);
    signal_ = signal;
    changed_.notify_all();
    if (changed_.wait_for(lock, kMoment, [this] { return is_over_; })) return;
    if (!is_once_) _exit(0);  // only the terminal is written to
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
    raise(signal);
  }

  const bool is_once_;
  sigset_t set_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int signal_ = 0;
  bool is_over_ = false;
  std::thread thread_;  // last, because it uses all members above
};

}  // namespace

CommandLine watch_command_line() {
  CommandLine line(
      "usage: eave watch RUN_DIR [options]\n\nFollows a run while it goes on, by the files that it writes to RUN_DIR. "
      "Shows a screen on a terminal, and plain lines elsewhere.\nEnds when the run does, with the run's exit code if "
      "it failed, or with 69 if it was killed on this host. If RUN_DIR holds several runs, watch follows the newest "
      "until Ctrl-C.");
  line.add_group("Display", {{"once", OptionType::kFlag, "off", "show the present state of the run, and exit"},
                             choice("plot", {"loss", "accuracy", "off"}, "loss", "curve to draw"),
                             {"interval", OptionType::kSeconds, "",
                              "time between two screens (default: 0.5s) or two lines (default: 10s)"}});
  return line;
}

namespace {

struct WatchRequest {
  std::filesystem::path directory;
  bool is_once = false;
  WatchPlot plot = WatchPlot::kLoss;
  TerminalSize terminal;
  double interval_seconds = 0;
};

WatchRequest read_watch_request(const CommandLine& line, const std::vector<std::string>& words) {
  const auto [paths, values] =
      read_first_path(line, words, "RUN_DIR", "no run directory given; expected eave watch RUN_DIR [options]");
  WatchRequest request;
  request.directory = paths.front();
  std::error_code error;
  if (std::filesystem::exists(request.directory, error) && !std::filesystem::is_directory(request.directory, error))
    throw Error(ExitCode::kInputMissing, request.directory.string() + " is no directory; expected that of a run");
  request.is_once = values.flag("once");
  request.terminal = output_terminal();
  const std::string& plot = values.text("plot");
  request.plot = plot == "off" ? WatchPlot::kOff : plot == "accuracy" ? WatchPlot::kAccuracy : WatchPlot::kLoss;
  if (values.given("plot") && !request.is_once && request.terminal.columns == 0)
    throw Error(ExitCode::kUsage, "--plot needs a terminal or --once");
  if (values.given("interval") && request.is_once)
    throw Error(ExitCode::kUsage, "--interval has no effect with --once; leave one out");
  request.interval_seconds = values.given("interval")       ? values.seconds("interval")
                             : request.terminal.columns > 0 ? 0.5
                                                            : 10;
  if (!(request.interval_seconds >= 0.05 && request.interval_seconds <= 86400))
    refuse_option(values, "interval", "expected 50ms to a day");
  return request;
}

// Lines that are redrawn in the same place.
class Screen {
 public:
  void draw(const std::vector<std::string>& lines, TerminalSize size) {
    std::string text;
    // After a change of width the terminal has moved the lines that were drawn.
    if (size != size_ && drawn_ > 0)
      text = "\033[H\033[2J";
    else if (drawn_ > 0)
      text = format("\033[%zuA\r", drawn_);
    for (const std::string& line : lines) text += line + "\033[K\n";
    std::fputs((text + "\033[J").c_str(), stdout);
    drawn_ = lines.size();
    size_ = size;
  }

 private:
  std::size_t drawn_ = 0;
  TerminalSize size_;
};

class Watch {
 public:
  explicit Watch(const WatchRequest& request)
      : request_(request), is_utf8_(is_utf8_locale()), runs_(request.directory) {}

  void run(const EndingSignals& signals) {
    if (request_.is_once) return show_once();
    do {
      const bool is_left = runs_.is_left();  // asked first, so that the poll sees all that a run wrote before it left
      const bool was_killed = runs_.stays_killed();
      const bool is_there = runs_.poll();
      if (runs_.is_gone()) refuse_without_directory();
      request_.terminal.columns > 0 ? draw(is_there) : print(is_there);
      require_output_written();
      if (!is_there || !runs_.is_one()) continue;
      if (newest().has_ended()) return finish();
      if (is_left) refuse_without_end();
      if (was_killed) refuse_without_writer();
    } while (!signals.come_within(std::min(request_.interval_seconds, 0.5)));
  }

 private:
  const WatchedRun& newest() const { return runs_.follower().run(); }
  std::string name() const { return shown_text(runs_.newest(), is_utf8_); }

  std::vector<std::string> lines(TerminalSize size) const {
    std::vector<std::string> all;
    if (!runs_.is_one()) {
      all = runs_.table(std::max(size.rows / 3, 2));
      for (std::string& line : all) line = first_characters(shown_text(line, is_utf8_), size.columns);
      all.emplace_back();
    }
    const ScreenStyle style{size.columns, size.rows - static_cast<int>(all.size()), is_utf8_, request_.plot};
    for (const std::string& line : watch_screen(runs_.newest(), newest(), style)) all.push_back(line);
    return all;
  }

  void show_once() {
    const bool is_there = runs_.poll();
    if (is_there && runs_.is_one() && newest().has_unknown_format()) finish();
    if (!is_there)
      throw Error(ExitCode::kInputMissing, "no run in " + request_.directory.string() +
                                               " yet; name the --run-dir of one, or leave out --once to wait for it");
    const TerminalSize size = request_.terminal.columns > 0 ? request_.terminal : TerminalSize{80, 40};
    for (const std::string& line : lines(size)) std::printf("%s\n", line.c_str());
    const bool was_killed = !newest().has_ended() && runs_.was_killed();
    for (const std::string& note : {shown_text(newest().gaps(), is_utf8_), was_killed ? killed_text() : quiet_line()}) {
      if (!note.empty()) std::printf("%s\n", note.c_str());
    }
    if (newest().failure()) std::printf("%s\n", describe_failure().c_str());
  }

  // A killed run leaves no message, so say since when nothing was written.
  std::string quiet_line() const {
    const double quiet = runs_.quiet_seconds();
    if (newest().has_ended() || quiet < kQuietSeconds) return "";
    return "nothing new for " + clock_text(quiet) + ": it evaluates, waits, or was ended";
  }

  std::string waiting_line() const {
    std::error_code error;
    const bool is_folder = std::filesystem::exists(request_.directory, error);
    return "waiting for a run in " + request_.directory.string() + (is_folder ? "" : ", which does not exist yet") +
           "; Ctrl-C ends";
  }

  void draw(bool is_there) {
    const TerminalSize now = output_terminal();
    const TerminalSize size = now.columns > 0 ? now : request_.terminal;
    std::vector<std::string> all;
    if (!is_there) {
      all = {shown_text(waiting_line(), is_utf8_)};
    } else {
      const std::string quiet = quiet_line();
      const bool waits = !runs_.is_one() && newest().has_ended();
      const std::string gaps = shown_text(newest().gaps(), is_utf8_);
      all = lines({size.columns, size.rows - (gaps.empty() ? 2 : 3)});
      if (!gaps.empty()) all.push_back(gaps);
      all.push_back(waits ? "waits for the next run; Ctrl-C ends" : quiet);
      if (all.back().empty()) all.pop_back();
    }
    for (std::string& line : all) line = first_characters(line, size.columns);
    screen_.draw(all, size);
  }

  bool is_time_for_line() {
    if (Clock::now() < next_line_) return false;
    next_line_ = Clock::now() +
                 std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request_.interval_seconds));
    return true;
  }

  void print(bool is_there) {
    if (!is_there) {
      if (is_time_for_line()) std::printf("%s\n", shown_text(waiting_line(), is_utf8_).c_str());
    } else {
      print_news();
      const std::string quiet = quiet_line();
      if (!newest().has_ended() && is_time_for_line())
        std::printf("%s\n", (quiet.empty() ? watch_line(newest()) : quiet).c_str());
    }
  }

  // Prints, once each: which run it is, that its file was replaced, and evaluations.
  void print_news() {
    const WatchedRun& run = newest();
    if (shown_ != runs_.newest()) {
      std::printf("%s:\n", name().c_str());
      told_ = 0;
    } else if (beginnings_ != runs_.follower().beginnings()) {
      std::printf("the run was %s\n", run.was_resumed() ? "resumed" : "replaced");
      told_ = run.was_resumed() ? run.evaluations().size() : 0;
    }
    const bool had_ended = shown_ == runs_.newest() && beginnings_ == runs_.follower().beginnings() && shown_end_;
    shown_ = runs_.newest();
    beginnings_ = runs_.follower().beginnings();
    for (; told_ < run.evaluations().size(); ++told_)
      std::printf("%s\n", evaluation_line(run.evaluations()[told_]).c_str());
    if (told_gaps_ != run.gaps()) {
      told_gaps_ = run.gaps();
      if (!told_gaps_.empty()) std::printf("%s\n", shown_text(told_gaps_, is_utf8_).c_str());
    }
    shown_end_ = run.has_ended();
    if (had_ended || !shown_end_ || runs_.is_one()) return;
    std::printf("%s\n", run.failure() ? describe_failure().c_str() : "finished; waits for the next run");
  }

  std::string describe_failure() const {
    if (newest().has_unknown_format()) return name() + ": " + shown_text(newest().failure()->message, is_utf8_);
    const FailureLine& failure = *newest().failure();
    return "the run in " + name() + " " + shown_text(describe_failed_end(failure.code, failure.message), is_utf8_);
  }

  [[noreturn]] void refuse_without_end() const {
    throw Error(ExitCode::kBadData, "the run in " + name() +
                                        " has ended: summary.json is there, and nobody holds its run.lock. But "
                                        "metrics.jsonl lacks the line of its end, or that is damaged; eave summary " +
                                        name() + " shows its results");
  }

  std::string killed_text() const {
    return "no process writes the run in " + name() +
           " any more: the one that did has ended without a message, as by SIGKILL";
  }

  [[noreturn]] void refuse_without_writer() const {
    throw Error(ExitCode::kPeerLost, killed_text() + "; " + remedy_for_run(request_.directory));
  }

  [[noreturn]] void refuse_without_directory() const {
    throw Error(ExitCode::kInputMissing,
                shown_text(request_.directory.string(), is_utf8_) + " was removed: there is nothing left to watch");
  }

  void finish() const {
    if (const auto& failure = newest().failure()) {
      const bool is_known = failure->code >= 64 && failure->code <= 78;
      throw Error(is_known ? static_cast<ExitCode>(failure->code) : ExitCode::kInternal, describe_failure());
    }
    const RunSummary& summary = *newest().end();
    const std::string table = summary_table({summary});
    const int columns = request_.terminal.columns;
    if (columns == 0 || static_cast<int>(table.find('\n')) <= columns) {
      std::printf("\n%s", table.c_str());
      return;
    }
    const double rate = summary.tokens > 0 ? tokens_per_second(summary) : summary.samples_per_second;
    std::printf("\nfinished: test %s\n%s s, %s %s/s\n%s per rank, waiting %.1f %%\n",
                named_score(summary.evaluation.metric, summary.evaluation.center.accuracy).c_str(),
                decimal_text(summary.seconds, 1).c_str(), decimal_text(rate, 0).c_str(),
                summary.tokens > 0 ? "tokens" : "samples",
                human_bytes(static_cast<double>(summary.bytes_per_rank)).c_str(), 100 * summary.waiting_share);
  }

  const WatchRequest request_;
  const bool is_utf8_;
  WatchedRuns runs_;
  Screen screen_;
  std::string shown_;
  std::string told_gaps_;
  bool shown_end_ = false;
  int beginnings_ = 0;
  std::size_t told_ = 0;
  Clock::time_point next_line_;
};

// Ends as soon as nobody reads the lines, or the disk is full.
void watch(const WatchRequest& request) {
  try {
    Watch(request).run(EndingSignals(request.is_once));
  } catch (const OutputLost&) {
  }
}

}  // namespace

int watch_command(const std::vector<std::string>& words, const char* const*) {
  return run_request(watch_command_line(), words, read_watch_request, watch);
}

}  // namespace eave
