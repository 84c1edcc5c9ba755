// Tests how the readers of a growing run directory follow it, and how its values are drawn.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "report/read/line_reader.h"
#include "report/record/metrics_writer.h"
#include "report/text/terminal.h"
#include "report/watch/watch_screen.h"
#include "report/watch/watched_runs.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class Watching : public testing::Test {
 protected:
  void append(const std::string& file, const std::string& text) const {
    std::ofstream(place / file, std::ios::app | std::ios::binary) << text;
  }
  void begin(const std::string& run, const std::map<std::string, std::string>& config) const {
    fs::create_directories(place / run);
    RunHeader header;
    header.config = config;
    header.communicator = "easgd";
    header.model = "mlp";
    header.ranks.resize(2);
    if (config.contains("max-tokens")) header.tokens_per_sample = 64;
    MetricsWriter(file(run)).write_header(header);
  }
  // Writes steps of 0.5 s and 100 samples. A quarter of each step is waiting. The loss of step n is 100 / n. `before`:
  // samples that an earlier evaluation counted besides.
  void step(const std::string& run, int rank, std::int64_t first, std::int64_t last, std::int64_t before = 0) const {
    MetricsWriter writer(file(run));
    for (std::int64_t n = first; n <= last; ++n) {
      const auto number = static_cast<double>(n);
      writer.write_steps(
          rank, {{n, before + 100 * n, number / 10, 100 / number, 0.125, number / 2, 0.375, 0.25, 0.125, 0, 8}});
    }
  }
  fs::path file(const std::string& run) const { return place / run / "metrics.jsonl"; }
  const TemporaryDirectory directory;
  const fs::path& place = directory.path();
};

EvaluationRecord evaluation(double epoch, double accuracy) {
  EvaluationRecord record;
  record.step = std::llround(10 * epoch);
  record.samples = 100 * record.step;
  record.seconds = 5 * epoch;
  record.epoch = epoch;
  record.center = {0.5, accuracy};
  record.workers = WorkerScores{{0.5, accuracy + 0.01}, {}, {0.5, accuracy + 0.02}};
  record.validation = {0.25, accuracy - 0.01};
  record.distance_max = 1;
  return record;
}

struct Tailed {
  explicit Tailed(const fs::path& path) : tail(path) {}
  bool read() {
    return tail.read([this] { ++beginnings; }, [this](const std::string& line) { lines.push_back(line); });
  }
  LineTail tail;
  Lines lines;
  int beginnings = 0;
};

TEST_F(Watching, hands_over_lines_once_and_only_whole_ones) {
  Tailed tailed(place / "lines");
  EXPECT_FALSE(tailed.read());
  append("lines", "one\ntwo\nthr");
  EXPECT_TRUE(tailed.read());
  EXPECT_EQ(tailed.lines, (Lines{"one", "two"}));
  append("lines", "ee\n" + std::string(200000, 'x') + "\n");
  tailed.read();
  tailed.read();
  EXPECT_EQ(tailed.lines, (Lines{"one", "two", "three", std::string(200000, 'x')}));
  EXPECT_EQ(tailed.beginnings, 1);
}

TEST_F(Watching, passes_over_a_line_of_300_mb_without_keeping_it) {
  append("lines", "one\n");
  fs::resize_file(place / "lines", std::uintmax_t{300} << 20);
  append("lines", "\ntwo\n");
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  Tailed tailed(place / "lines");
  tailed.read();
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(tailed.lines, (Lines{"one", std::string(LineTail::kTooLong), "two"}));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 << 10)
      << "kB; a line of 64 MiB may be kept, in a string that grows";
  const double seconds = static_cast<double>(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                         1e-6 * static_cast<double>(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
  EXPECT_LT(seconds, 10) << "250 s when each piece searched the whole line anew";
  WatchedRun run;
  for (const std::string& line : tailed.lines) run.take(line);
  EXPECT_TRUE(run.damage().starts_with("3 damaged lines of metrics.jsonl are left out; the first, line 1: "))
      << run.damage();
}

TEST_F(Watching, begins_anew_with_a_file_that_was_replaced_or_cut) {
  Tailed tailed(place / "lines");
  append("lines", "one\ntwo\n");
  tailed.read();
  append("other", "six\nsev");  // as long as the file that it replaces
  fs::rename(place / "other", place / "lines");
  tailed.read();
  EXPECT_EQ(tailed.beginnings, 2);
  EXPECT_EQ(tailed.lines, (Lines{"one", "two", "six"}));
  fs::resize_file(place / "lines", 4);
  tailed.read();
  EXPECT_EQ(tailed.beginnings, 3);
  fs::remove(place / "lines");
  EXPECT_FALSE(tailed.read());
  append("lines", "ten\n");
  tailed.read();
  EXPECT_EQ(tailed.lines.back(), "ten");
  EXPECT_EQ(tailed.beginnings, 4);
}

TEST_F(Watching, tells_how_far_a_run_is_by_the_limit_that_it_meets_first) {
  begin("run", {{"epochs", "10"}, {"max-steps", "80"}});
  step("run", 0, 1, 40);
  step("run", 1, 1, 60);
  RunFollower follower(place / "run");
  follower.poll();
  const WatchedRun& run = follower.run();
  EXPECT_EQ(run.last().step, 40);
  EXPECT_EQ(run.share_done(), 0.5) << "40 of 80 steps, 4 of 10 epochs";
  EXPECT_EQ(run.seconds_left(), 20);
  step("run", 0, 41, 80);
  follower.poll();
  EXPECT_EQ(run.share_done(), 1);
}

// eave compare gives such runs a million epochs. Rank 0 sends 8 bytes in each step.
TEST_F(Watching, tells_how_far_a_run_is_that_a_budget_ends) {
  for (const auto& [option, limit] : std::map<std::string, std::string>{{"max-samples", "8000"},
                                                                        {"max-tokens", "512000"},
                                                                        {"stop-after-time", "40s"},
                                                                        {"stop-after-bytes", "640B"}}) {
    begin(option, {{"epochs", "1000000"}, {option, limit}, {"data", "mnist"}});
    step(option, 0, 1, 40);
    RunFollower follower(place / option);
    follower.poll();
    EXPECT_EQ(follower.run().share_done(), 0.5) << option;
    for (const std::string& line : watch_screen("run", follower.run(), {}))
      EXPECT_EQ(line.find("1000000"), std::string::npos) << line;
  }
}

RunSummary end_of(std::int64_t steps) {
  RunSummary end;
  end.communicator = "easgd";
  end.model = "mlp";
  end.data = "mnist";
  end.ranks = end.workers = 2;
  end.steps = steps;
  end.samples = 100 * steps;
  end.epochs = static_cast<double>(steps) / 10;
  end.seconds = static_cast<double>(steps) / 2;
  end.samples_per_second = 200;
  end.bytes_per_rank = 8 * steps;
  end.evaluation = evaluation(end.epochs, 0.5);
  return end;
}

// Steps 41 to 80 were lost on a full disk.
TEST_F(Watching, says_that_a_run_has_ended_and_why_and_takes_its_state_from_the_end) {
  const auto screen = [this](const std::string& run, const std::map<std::string, std::string>& config) {
    begin(run, config);
    step(run, 0, 1, 40);
    append(run + "/metrics.jsonl", "{\"type\":\"lost\",\"lines\":80}\n");
    MetricsWriter(file(run)).write_end(end_of(80));
    RunFollower follower(place / run);
    follower.poll();
    EXPECT_EQ(follower.run().gaps(), "80 lines of metrics.jsonl are missing, because the run could not write them");
    return watch_screen("run", follower.run(), {80, 24, false, WatchPlot::kOff}).at(1);
  };
  const std::map<std::string, std::string> config = {{"epochs", "1000"}, {"data", "mnist"}};
  const auto with = [&](const std::string& option, const std::string& value) {
    std::map<std::string, std::string> more = config;
    more[option] = value;
    return more;
  };
  EXPECT_EQ(screen("time", with("stop-after-time", "40s")),
            "ended by --stop-after-time 40s  epoch 8.00 of 1000  step 80");
  EXPECT_EQ(screen("loss", with("stop-at-loss", "0.5")), "ended by --stop-at-loss 0.5  epoch 8.00 of 1000  step 80");
  EXPECT_EQ(screen("bytes", with("stop-after-bytes", "640B")),
            "ended by --stop-after-bytes 640B  epoch 8.00 of 1000  step 80");
  EXPECT_EQ(screen("whole", {{"epochs", "8"}, {"data", "mnist"}, {"stop-at-accuracy", "0.9"}}),
            "ended  epoch 8.00 of 8  step 80");
}

TEST_F(Watching, of_an_ended_run_without_steps_shows_only_what_its_end_tells) {
  begin("run", {{"data", "mnist"}});
  MetricsWriter(file("run")).write_end(end_of(80));
  RunFollower follower(place / "run");
  follower.poll();
  EXPECT_EQ(watch_screen("run", follower.run(), {80, 24, false, WatchPlot::kOff}),
            (Lines{"run:  easgd, 2 ranks  mlp on mnist", "ended  epoch 8.00  step 80", "200 samples/s"}));
  EXPECT_EQ(watch_line(follower.run()), "epoch 8.00  step 80  200 samples/s");
}

// The last ten seconds are the steps 21 to 40.
TEST_F(Watching, tells_means_of_the_last_ten_seconds) {
  begin("run", {});
  step("run", 0, 1, 40);
  RunFollower follower(place / "run");
  follower.poll();
  const RecentSteps recent = follower.run().recent();
  EXPECT_EQ(recent.seconds, 10);
  EXPECT_EQ(recent.samples_per_second, 200);
  EXPECT_EQ(recent.computing, 0.75);
  EXPECT_EQ(recent.exchanging, 0.5);
  EXPECT_EQ(recent.waiting, 0.25);
  EXPECT_EQ(recent.loading, 0);
  double mean = 0;
  for (int n = 21; n <= 40; ++n) mean += 100.0 / n / 20;
  EXPECT_DOUBLE_EQ(recent.loss, mean);
}

// Ranks of a program that take steps independently count only their own samples until an evaluation.
TEST_F(Watching, tells_the_rate_of_all_ranks_of_a_program_as_its_evaluations_count_samples) {
  begin("run", {{"program", "train.py"}});
  std::int64_t first = 1;
  for (const std::int64_t evaluated : {20, 40, 80}) {
    step("run", 0, first, evaluated - 1, 100 * (first - 1));
    EvaluationRecord all = evaluation(static_cast<double>(evaluated) / 10, 0.5);
    all.samples *= 2;
    MetricsWriter(file("run")).write_evaluation(all);
    first = evaluated + 1;
    RunFollower follower(place / "run");
    follower.poll();
    EXPECT_EQ(follower.run().damage(), "");
    EXPECT_EQ(follower.run().recent().samples_per_second, 400) << "after " << evaluated << " steps";
  }
}

// A run goes on with one rank instead of two: each step has 100 samples, where evaluations have counted 200.
TEST_F(Watching, tells_the_rate_of_a_program_that_was_resumed_on_other_ranks_by_what_came_since) {
  const auto evaluate = [&](std::int64_t last, std::int64_t samples) {
    EvaluationRecord all = evaluation(static_cast<double>(last) / 10, 0.5);
    all.samples = samples;
    MetricsWriter(file("run")).write_evaluation(all);
  };
  const auto rate = [&] {
    RunFollower follower(place / "run");
    follower.poll();
    EXPECT_EQ(follower.run().damage(), "");
    return follower.run().recent().samples_per_second;
  };
  begin("run", {{"program", "train.py"}});
  step("run", 0, 1, 19);
  evaluate(20, 4000);
  step("run", 0, 21, 39, 2000);
  evaluate(40, 8000);
  EXPECT_EQ(rate(), 400);
  begin("run", {{"program", "train.py"}});
  step("run", 0, 41, 79, 4000);
  EXPECT_EQ(rate(), 200) << "no evaluation has come since";
  evaluate(80, 12000);
  EXPECT_EQ(rate(), 200);
  step("run", 0, 81, 119, 4000);
  evaluate(120, 16000);
  EXPECT_EQ(rate(), 200);
}

TEST_F(Watching, goes_on_over_lines_that_say_nothing) {
  begin("run", {});
  append("run/metrics.jsonl", "no json\n[]\n{\"type\":7}\n{\"type\":\"of a later eave\"}\n{\"type\":\"evaluation\"}\n");
  step("run", 0, 1, 3);
  append("run/metrics.jsonl", "{\"type\":\"step\",\"ra");
  RunFollower follower(place / "run");
  follower.poll();
  EXPECT_EQ(follower.run().last().step, 3);
  EXPECT_TRUE(follower.run().evaluations().empty());
}

TEST_F(Watching, tells_a_newer_format_from_damage) {
  for (const std::string run : {"runs/a", "runs/b"}) {
    fs::create_directories(place / run);
    append(run + "/metrics.jsonl", "{\"type\":\"header\",\"format\":3}\n{\"type\":\"step\",\"loss\":\"low\"}\n");
  }
  RunFollower follower(place / "runs/a");
  follower.poll();
  EXPECT_TRUE(follower.run().has_unknown_format());
  EXPECT_EQ(follower.run().damage(), "");
  EXPECT_EQ(
      follower.run().failure()->message.find("metrics.jsonl line 1: it says format 3; this eave reads format 1 to"),
      0u);
  WatchedRuns runs(place / "runs");
  ASSERT_TRUE(runs.poll());
  EXPECT_EQ(runs.table(10)[1].find("  a  metrics.jsonl line 1: it says format 3"), 0u) << runs.table(10)[1];
}

std::size_t characters(const std::string& line) {
  std::size_t count = 0;
  for (const char byte : line) count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return count;
}

TEST_F(Watching, fits_any_terminal) {
  begin("run", {{"epochs", "10"}, {"data", "mnist"}});
  step("run", 0, 1, 40);
  MetricsWriter(file("run")).write_evaluation(evaluation(4, 0.5));
  RunFollower follower(place / "run");
  follower.poll();
  for (const bool is_utf8 : {false, true}) {
    for (const WatchPlot plot : {WatchPlot::kLoss, WatchPlot::kAccuracy, WatchPlot::kOff}) {
      for (int columns = 1; columns <= 200; ++columns) {
        for (const int rows : {1, 2, 8, 24, 60}) {
          const Lines lines = watch_screen("ein Läufer\033[2J", follower.run(), {columns, rows, is_utf8, plot});
          EXPECT_LE(lines.size(), static_cast<std::size_t>(rows));
          for (const std::string& line : lines) {
            EXPECT_LE(characters(line), static_cast<std::size_t>(columns)) << line;
            EXPECT_EQ(line.find('\033'), std::string::npos);
            EXPECT_TRUE(is_utf8 || characters(line) == line.size()) << line;
          }
        }
      }
    }
  }
}

// The run's program tells eave neither its losses nor the size of its training set.
TEST_F(Watching, shows_steps_if_there_are_no_epochs_and_no_loss_if_none_is_known) {
  begin("run", {});
  MetricsWriter writer(file("run"));
  for (std::int64_t n = 1; n <= 2; ++n)
    writer.write_steps(0, {{n, 100 * n, 0, std::nan(""), 0.125, static_cast<double>(n), 0.375, 0.25, 0.125, 0, 8}});
  EvaluationRecord record = evaluation(0.2, 0.5);
  record.epoch = 0;
  record.seconds = 3;
  record.center.loss = std::nan("");
  writer.write_evaluation(record);
  RunFollower follower(place / "run");
  follower.poll();
  const Lines lines = watch_screen("run", follower.run(), {80, 24, false, WatchPlot::kOff});
  EXPECT_EQ(lines[1], "[........................] 0 %  step 2");
  EXPECT_TRUE(lines[2].starts_with("loss not known  ")) << lines[2];
  EXPECT_EQ(lines[lines.size() - 2], "   center     mean     best   valid.     loss distance     step");
  EXPECT_EQ(lines.back(), "    50.00    51.00    52.00    49.00        -        0        2");
  EXPECT_EQ(evaluation_line(record).substr(0, 53), "step 2  test accuracy 50.00 %  test loss not known  v");
  EXPECT_EQ(watch_line(follower.run()).substr(0, 6), "step 2");
}

TEST_F(Watching, shows_evaluations_of_center_mean_best_and_validation) {
  begin("run", {{"epochs", "10"}});
  step("run", 0, 1, 10);
  for (int i = 1; i <= 20; ++i) MetricsWriter(file("run")).write_evaluation(evaluation(i, 0.01 * i));
  RunFollower follower(place / "run");
  follower.poll();
  const Lines lines = watch_screen("run", follower.run(), {80, 24, false, WatchPlot::kOff});
  EXPECT_EQ(lines.back(), "    20.00    20.00    21.00    22.00    19.00   0.5000        0      200");
  const Lines narrow = watch_screen("run", follower.run(), {40, 24, false, WatchPlot::kOff});
  EXPECT_EQ(narrow.back(), "    20.00    20.00    21.00    22.00");
}

TEST(TextPlot, draws_a_rising_line_from_the_lowest_to_the_highest_value) {
  std::vector<PlotPoint> rising;
  for (int i = 0; i <= 100; ++i) rising.push_back({static_cast<double>(i), static_cast<double>(i)});
  // The plot has eight columns. Each is the mean of 12 or 13 values and lies on one of eight heights.
  EXPECT_EQ(text_plot(rising, {18, 4, false}),
            (Lines{"      94 |      .'", "         |    .'", "         |  .'", "       6 |.'"}));
}

TEST(TextPlot, draws_braille_and_joins_points_that_are_far_apart) {
  EXPECT_EQ(text_plot({{0, 0}, {1, 3}}, {18, 2, true}), (Lines{"       3 │    ⣀⠤⠒⠉", "       0 │⣀⠤⠒⠉"}));
  EXPECT_EQ(text_plot({{0, 5}, {1, 5}}, {18, 3, true})[1], "       5 │⠒⠒⠒⠒⠒⠒⠒⠒");
}

TEST(TextPlot, keeps_within_its_rows_near_the_largest_number) {
  constexpr double kLarge = 1.7e308;
  const std::vector<PlotPoint> points = {{0, 5},           {0.001, kLarge}, {0.002, kLarge}, {0.502, -kLarge},
                                         {0.503, -kLarge}, {0.504, kLarge}, {1.004, 1},      {1.005, -kLarge}};
  for (const bool is_utf8 : {false, true}) EXPECT_EQ(text_plot(points, {60, 14, is_utf8}).size(), 14u);
}

TEST(TextPlot, of_less_than_two_points_is_none) {
  EXPECT_TRUE(text_plot({}, {80, 8, true}).empty());
  EXPECT_TRUE(text_plot({{1, 1}}, {80, 8, true}).empty());
  EXPECT_TRUE(text_plot({{1, 1}, {1, 2}}, {80, 8, true}).empty());
}

TEST_F(Watching, of_several_runs_has_a_line_for_each_and_follows_the_newest) {
  WatchedRuns runs(place);
  EXPECT_FALSE(runs.poll());
  begin("done", {});
  step("done", 0, 1, 2);
  RunSummary summary;
  summary.communicator = "easgd";
  summary.model = "mlp";
  summary.ranks = summary.workers = 2;
  summary.evaluation = evaluation(1, 0.75);
  summary.steps = summary.evaluation.step;
  summary.samples = summary.evaluation.samples;
  summary.epochs = summary.evaluation.epoch;
  summary.seconds = 12;
  summary.samples_per_second = static_cast<double>(summary.samples) / summary.seconds;
  summary.bytes_per_rank = 100;
  MetricsWriter(file("done")).write_end(summary);
  begin("failed", {});
  MetricsWriter(file("failed")).write_failure(Error(ExitCode::kDiverged, "not finite"));
  begin("now", {{"max-steps", "10"}});
  step("now", 0, 1, 4);
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(file("done"), now - std::chrono::seconds(3));
  fs::last_write_time(file("failed"), now - std::chrono::seconds(2));
  ASSERT_TRUE(runs.poll());
  EXPECT_FALSE(runs.is_one());
  EXPECT_EQ(runs.newest(), "now");
  EXPECT_EQ(runs.follower().run().last().step, 4);
  const Lines table = runs.table(10);
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[0], "3 runs: 1 finished, 1 failed, 1 begun");
  EXPECT_EQ(table[1], "  done     75.00 %  12.0 s");
  EXPECT_EQ(table[2], "  failed  failed: not finite");
  EXPECT_EQ(table[3].substr(0, 21), "  now       40 % done");
  EXPECT_EQ(runs.table(3).size(), 3u);
  begin("next", {});
  fs::last_write_time(file("next"), now + std::chrono::seconds(1));
  runs.poll();
  EXPECT_EQ(runs.newest(), "next");
}

TEST_F(Watching, notices_a_run_that_was_resumed) {
  begin("run", {});
  step("run", 0, 1, 9);
  WatchedRuns runs(place / "run");
  ASSERT_TRUE(runs.poll());
  EXPECT_TRUE(runs.is_one());
  EXPECT_FALSE(runs.follower().run().was_resumed());
  fs::copy_file(file("run"), place / "copy");
  fs::rename(place / "copy", file("run"));
  begin("run", {});
  runs.poll();
  EXPECT_EQ(runs.follower().beginnings(), 2);
  EXPECT_TRUE(runs.follower().run().was_resumed());
  EXPECT_EQ(runs.follower().run().last().step, 9);
}

}  // namespace
}  // namespace eave
