// Tests how the readers of a growing run directory follow it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "report/read/line_reader.h"
#include "report/record/metrics_writer.h"
#include "report/watch/watch_screen.h"
#include "report/watch/watched_runs.h"
#include "test/report/watch/watching.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

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

// Two ranks of 100 samples a step each. Rank 0's lines lack those of the other since the last evaluation.
TEST_F(Watching, counts_the_samples_of_all_ranks_of_a_program_in_what_is_done) {
  begin("run", {{"program", "train.py"}, {"max-samples", "16000"}});
  step("run", 0, 1, 19);
  EvaluationRecord counted = evaluation(2, 0.5);
  counted.samples = 4000;
  MetricsWriter(file("run")).write_evaluation(counted);
  step("run", 0, 21, 40, 2000);
  RunFollower follower(place / "run");
  follower.poll();
  EXPECT_EQ(follower.run().share_done(), 0.5) << "8000 of 16000, of which rank 0's line knows 6000";
}

}  // namespace
}  // namespace eave
