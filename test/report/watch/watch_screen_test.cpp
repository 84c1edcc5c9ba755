// Tests how the screen of `eave watch` draws the values of runs.
#include "report/watch/watch_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "report/record/metrics_writer.h"
#include "report/text/terminal.h"
#include "report/watch/watched_runs.h"
#include "test/report/watch/watching.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

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
  EXPECT_EQ(lines[1], "step 2");
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
  step("next", 0, 1, 3);
  runs.poll();
  const Lines without_length = runs.table(10);
  EXPECT_TRUE(std::ranges::any_of(without_length, [](const std::string& line) {
    return line.find("next") != std::string::npos && line.find("step 3") != std::string::npos;
  })) << without_length.back();
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
