// Tests what saves and evaluations leave in the record of a run: no time and bytes of their own in the lines of steps,
// and no step that is in no line.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/files/input_file.h"
#include "c/run/run_recorder.h"
#include "report/read/run_reader.h"
#include "test/c/run/recorded_rank.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

const std::string kLargeState(std::size_t{1} << 26, 'x');
constexpr double kHousekeeping = 2;  // bytes by which ranks come to a consensus

using Clock = std::chrono::steady_clock;

void sleep_for(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A time of this length is told from one that is nearly 0, even if a loaded machine stops a thread for a while.
constexpr int kLong = 500;
constexpr double kShort = kLong / 2000.0;  // seconds

// Saves again and again, for at least kLong. Returns how often.
int save_for_long(RecordedRank& rank, const std::string& place) {
  int saves = 0;
  for (const Clock::time_point start = Clock::now(); seconds_since(start) * 1000 < kLong; ++saves)
    rank.averager().save(place + "/checkpoint" + std::to_string(saves), kLargeState, 3);
  return saves;
}

TEST(Saves, are_no_part_of_training) {
  const TemporaryDirectory place;
  double saving = 0;
  int saves = 0;
  record_job(path_in(place), {}, [&](RecordedRank& rank) {
    rank.step();
    const Clock::time_point start = Clock::now();
    saves = save_for_long(rank, path_in(place));
    saving = seconds_since(start);
    rank.averager().state("");
    sleep_for(kLong);  // the program writes the state
    rank.step();
    rank.evaluate();
    rank.end();
  });
  const RunSummary summary = *read_run(path_in(place)).summary;
  EXPECT_LT(summary.seconds, kShort);
  EXPECT_LT(summary.times_of_ranks[0].loading, kShort);
  EXPECT_EQ(summary.checkpoints, saves);
  EXPECT_GT(summary.checkpoint_seconds, saving / 2);
  EXPECT_LE(summary.checkpoint_seconds, saving);
}

RunSummary summary_with_saves(const std::string& options, bool saves) {
  const TemporaryDirectory place;
  record_job(path_in(place), {2, options}, [&](RecordedRank& rank) {
    for (int step = 0; step < 6; ++step) {
      rank.step();
      if (saves && step % 2 == 0) rank.averager().state("");
      if (step == 3) rank.evaluate();
      if (saves && step == 3) rank.averager().save(checkpoint_in(path_in(place)), "", 3);
    }
    rank.evaluate();
    rank.end();
  });
  return *read_run(path_in(place)).summary;
}

TEST(Saves, send_no_bytes_that_count) {
  for (const std::string options : {kAllreduce, kEasgd})
    EXPECT_EQ(summary_with_saves(options, true).bytes_per_rank, summary_with_saves(options, false).bytes_per_rank);
}

TEST(Saves, count_the_wait_for_a_slow_rank_as_training) {
  const TemporaryDirectory place;
  record_job(path_in(place), {2, "communicator=none"}, [&](RecordedRank& rank) {
    for (int save = 0; save < 2; ++save) {
      if (rank.number() == 1) sleep_for(100);
      rank.step();
      rank.averager().state("");
    }
    rank.evaluate();
    rank.end();
  });
  const RunSummary summary = *read_run(path_in(place)).summary;
  EXPECT_GE(summary.seconds, 0.2);
  EXPECT_GT(summary.waiting_share, 0.25);  // rank 0 waits nearly all the time, rank 1 never
}

// The program does other things before each evaluation. The second one has a checkpoint between consensus and scores.
TEST(Evaluations, last_from_their_consensus_on) {
  const TemporaryDirectory place;
  record_job(path_in(place), {2}, [&](RecordedRank& rank) {
    sleep_for(kLong);
    rank.evaluate();
    rank.step();
    rank.consensus();
    save_for_long(rank, path_in(place));
    rank.score();
    sleep_for(kLong);
    rank.evaluate();
    rank.consensus();
    sleep_for(kLong);
    rank.score();
    rank.end();
  });
  const RunRecord run = read_run(path_in(place));
  ASSERT_EQ(run.evaluations.size(), 4u);
  EXPECT_LT(run.evaluations[0].record.evaluation_seconds, kShort);
  EXPECT_LT(run.evaluations[1].record.evaluation_seconds, kShort);
  EXPECT_LT(run.evaluations[2].record.evaluation_seconds, kShort);
  EXPECT_GE(run.evaluations[3].record.evaluation_seconds, kLong / 1000.0);
}

TEST(Repairs, are_counted_in_a_run_and_in_one_that_goes_on) {
  const TemporaryDirectory place;
  const std::string saved = checkpoint_in(path_in(place));
  for (const bool resumes : {false, true}) {
    record_job(path_in(place),
               {3, "communicator=allreduce lr=0.1 replica-hash-every=2 on-replica-fault=repair", "resume=on\nbatch=4",
                resumes},
               [&](RecordedRank& rank) {
                 rank.step();
                 if (rank.number() == 1) rank.parameters()[0] += 1;
                 for (int step = 0; step < 4; ++step) rank.step();
                 rank.averager().save(saved, "", 3);
                 rank.evaluate();
                 if (resumes) rank.end();
               });
  }
  EXPECT_EQ(read_run(path_in(place)).summary->repaired, 2);
}

// A run of seven steps, evaluated after the fifth and the last one.
struct Interval {
  int every = 1000;
  int saved = 0, killed = 7;  // the step after which it is saved, before an evaluation; the last step of this job
  bool resumes = false;
};

void record(const std::string& path, const Interval& interval) {
  const std::string settings = std::string(kRunSettings) + "\nresume=on\nlog-every=" + std::to_string(interval.every);
  record_job(path, {2, kEasgd, settings, interval.resumes}, [&](RecordedRank& rank) {
    for (auto step = rank.averager().steps() + 1; step <= interval.killed; ++step) {
      rank.step();
      rank.run().set_loss(static_cast<double>(step) + rank.number());
      if (step == interval.saved) rank.averager().save(checkpoint_in(path), "", 3);
      if (step == 5 || step == 7) rank.evaluate();
    }
    if (interval.killed == 7) rank.end();
  });
}

TEST(StepsBetweenLines, are_in_a_line_before_each_evaluation) {
  const TemporaryDirectory place;
  record(place.path() / "a", {});
  record(place.path() / "b", {.every = 1});
  const RunRecord run = read_run(place.path() / "a"), each = read_run(place.path() / "b");
  ASSERT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[0].step, 5);
  EXPECT_EQ(run.steps[0].loss, (1 + 2 + 3 + 4 + 5) / 5.0);
  EXPECT_EQ(run.steps[1].step, 7);
  EXPECT_EQ(run.steps[1].loss, (6 + 7) / 2.0);
  EXPECT_NEAR(run.summary->bytes_per_rank, each.summary->bytes_per_rank, kHousekeeping);
  EXPECT_GT(run.summary->times_of_ranks[1].computing, 0);
}

TEST(StepsBetweenLines, are_not_lost_where_a_run_is_saved) {
  for (const int every : {1, 2, 3, 1000}) {
    for (const int saved : {2, 4, 5, 6}) {
      for (const int killed : {saved, 6}) {
        const TemporaryDirectory place;
        const std::string whole = place.path() / "whole", broken = place.path() / "broken";
        SCOPED_TRACE(std::to_string(every) + " " + std::to_string(saved) + " " + std::to_string(killed));
        record(whole, {.every = every});
        record(broken, {.every = every, .saved = saved, .killed = killed});
        record(broken, {.every = every, .resumes = true});
        const RunRecord expected = read_run(whole), run = read_run(broken);
        EXPECT_NEAR(run.summary->bytes_per_rank, expected.summary->bytes_per_rank, kHousekeeping);
        ASSERT_EQ(run.steps.size(), expected.steps.size());
        for (std::size_t i = 0; i < run.steps.size(); ++i) {
          EXPECT_EQ(run.steps[i].step, expected.steps[i].step);
          EXPECT_EQ(run.steps[i].loss, expected.steps[i].loss);
          EXPECT_NEAR(run.steps[i].bytes, expected.steps[i].bytes, kHousekeeping);
        }
      }
    }
  }
}

// The first part was killed after its last step and before the evaluation.
TEST(StepsBetweenLines, are_in_a_line_if_a_run_goes_on_with_its_end) {
  const TemporaryDirectory place;
  for (const bool resumes : {false, true}) {
    record_job(path_in(place), {2, kAllreduce, "batch=4\nresume=on\nlog-every=1000", resumes}, [&](RecordedRank& rank) {
      if (!resumes) {
        for (int step = 0; step < 3; ++step) rank.step();
        rank.averager().save(checkpoint_in(path_in(place)), "", 3);
        return;
      }
      rank.evaluate();
      rank.end();
    });
  }
  const RunRecord run = read_run(path_in(place));
  ASSERT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.steps[0].step, 3);
  const std::string lines = read_file(path_in(place) + "/metrics.jsonl", 1 << 20);
  EXPECT_NE(lines.find("\"learning_rate\":0.1,"), std::string::npos) << lines;
  EXPECT_GT(run.summary->bytes_per_rank, 0);
}

std::int64_t left_out(const std::string& path, int ranks, bool is_last) {
  std::vector<std::int64_t> of_ranks(static_cast<std::size_t>(ranks));
  record_job(path, {ranks, "communicator=none lr=0.1", "batch=4\nresume=on", ranks != 4}, [&](RecordedRank& rank) {
    for (int step = 0; step < 4; ++step) rank.step(4, step <= rank.number() ? NAN : 1);
    rank.averager().save(checkpoint_in(path), "", 3);
    of_ranks[static_cast<std::size_t>(rank.number())] = rank.averager().steps_left_out();
    rank.evaluate();
    if (is_last) rank.end();
  });
  return std::accumulate(of_ranks.begin(), of_ranks.end(), std::int64_t{0});
}

TEST(StepsLeftOut, count_once_with_other_numbers_of_ranks) {
  const TemporaryDirectory place;
  std::int64_t expected = 0;
  for (const int ranks : {4, 2, 3}) {
    expected += ranks * (ranks + 1) / 2;
    EXPECT_EQ(left_out(path_in(place), ranks, ranks == 3), expected) << ranks;
  }
  EXPECT_EQ(read_run(path_in(place)).summary->nonfinite, expected);
}

std::size_t lines_of_steps(const std::string& path) {
  const std::string lines = read_file(path + "/metrics.jsonl", 1 << 20), step = "\"type\":\"step\"";
  std::size_t count = 0;
  for (std::size_t at = lines.find(step); at != std::string::npos; at = lines.find(step, at + 1)) ++count;
  return count;
}

// An evaluation lets the steps of a rank that is behind be counted on from those of the others.
TEST(Lines, before_a_save_are_kept_where_ranks_are_in_different_steps) {
  const TemporaryDirectory place;
  const std::string saved = checkpoint_in(path_in(place));
  for (const bool resumes : {false, true}) {
    record_job(path_in(place), {2, "communicator=easgd-async tau=2 lr=0.1", kResumedSettings, resumes},
               [&](RecordedRank& rank) {
                 for (int epoch = 0; epoch < 2; ++epoch) {
                   rank.join(rank.number() == 0 ? 2 : 5, 4);
                   if (epoch == 0) rank.evaluate();
                   if (epoch == 1) rank.averager().save(saved, "", 3);
                 }
                 if (!resumes) rank.join(1, 4);  // lost with the job
                 rank.evaluate();
                 if (resumes) rank.end();
               });
    EXPECT_EQ(lines_of_steps(path_in(place)), resumes ? 28u : 16u);
  }
  EXPECT_EQ(read_run(path_in(place)).summary->samples, 28 * 4);
}

// After the save only rank 0 takes a step, so the evaluation writes rank 1's line of what the state has as untold.
TEST(Lines, that_an_evaluation_writes_after_a_save_are_no_longer_untold) {
  const TemporaryDirectory place;
  const std::string saved = checkpoint_in(path_in(place));
  for (const bool resumes : {false, true}) {
    record_job(path_in(place), {2, "communicator=none lr=0.1", "batch=4\nresume=on\nlog-every=1000", resumes},
               [&](RecordedRank& rank) {
                 const int steps = resumes ? 1 : 2 + 3 * rank.number();
                 for (int step = 0; step < steps; ++step) rank.step();
                 if (!resumes) rank.averager().save(saved, "", 3);
                 if (!resumes && rank.number() == 0) rank.step();
                 rank.evaluate();
                 if (resumes) rank.end();
               });
  }
  const RunRecord run = read_run(path_in(place));
  EXPECT_EQ(run.summary->steps, 6);
  EXPECT_EQ(lines_of_steps(path_in(place)), 3u);  // of rank 0: all its steps; of rank 1: five steps, then one
}

}  // namespace
}  // namespace eave
