// Tests runs that go on after a break: each step and evaluation comes once, and no checkpoint is lost.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>

#include "base/files/input_file.h"
#include "c/run/run_recorder.h"
#include "checkpoint/checkpoint_directory.h"
#include "report/read/run_reader.h"
#include "report/record/run_directory.h"
#include "test/c/run/recorded_rank.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// Steps from those of the averager to `last`, evaluated after each third one, and saved after `saved`.
void train_to(RecordedRank& rank, int last, int saved, const std::string& into) {
  while (rank.averager().steps() < last) {
    const auto step = static_cast<int>(rank.averager().steps()) + 1;
    rank.step();
    rank.run().set_loss(step + rank.number());
    if (step == saved) rank.averager().save(into, "", 3);
    if (step % 3 == 0) rank.evaluate({{1.0 / step, 10.0 / step}, {}, {}, {}});
  }
}

class ResumedRun : public testing::TestWithParam<const char*> {
 protected:
  // A job that is killed after step 5, if it saved in step 4, or ends after 9.
  void record(const std::string& place, bool resumes, bool is_killed) {
    const std::string settings = resumes ? kResumedSettings : kRunSettings;
    record_job(place, {2, GetParam(), settings, resumes}, [&](RecordedRank& rank) {
      train_to(rank, is_killed ? 5 : 9, is_killed ? 4 : 0, checkpoint_in(place));
      if (!is_killed) rank.end();
    });
  }
};

TEST_P(ResumedRun, has_each_step_and_evaluation_once) {
  const TemporaryDirectory place;
  const std::string whole = place.path() / "whole", killed = place.path() / "killed";
  record(whole, false, false);
  record(killed, false, true);
  record(killed, true, false);
  const RunRecord expected = read_run(whole), run = read_run(killed);
  EXPECT_EQ(run.end, RunEnd::kFinished);
  ASSERT_EQ(run.evaluations.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(run.evaluations[i].record.samples, expected.evaluations[i].record.samples);
    EXPECT_EQ(run.evaluations[i].record.center.accuracy, expected.evaluations[i].record.center.accuracy);
  }
  ASSERT_EQ(run.steps.size(), expected.steps.size());
  for (std::size_t i = 0; i < run.steps.size(); ++i) EXPECT_EQ(run.steps[i].loss, expected.steps[i].loss) << i;
  EXPECT_EQ(run.summary->steps, 9);
  EXPECT_EQ(run.summary->samples, 9 * 4 * 2);
  EXPECT_EQ(run.summary->bytes_per_rank, expected.summary->bytes_per_rank);
}

TEST_P(ResumedRun, that_had_ended_ends_as_before) {
  const TemporaryDirectory place;
  const std::string path = place.path() / "run";
  for (const bool resumes : {false, true}) {
    record_job(path, {2, GetParam(), kResumedSettings, resumes}, [&](RecordedRank& rank) {
      train_to(rank, 6, 6, checkpoint_in(path));
      rank.end();
    });
  }
  const RunRecord run = read_run(path);
  EXPECT_EQ(run.end, RunEnd::kFinished);
  EXPECT_EQ(run.evaluations.size(), 2u);
  EXPECT_EQ(run.summary->steps, 6);
  EXPECT_EQ(run.summary->evaluation.center.accuracy, 10.0 / 6);
}

INSTANTIATE_TEST_SUITE_P(With, ResumedRun,
                         testing::Values(kAllreduce, kEasgd,
                                         "communicator=easgd-async async-order=round-robin tau=2 lr=0.1 steps=9"));

TEST(ResumedRecord, goes_on_with_other_numbers_of_ranks) {
  const TemporaryDirectory place;
  const std::string path = place.path() / "run", saved = checkpoint_in(path);
  int last = 0;
  for (const int ranks : {4, 2, 3}) {
    last += 3;
    record_job(path, {ranks, kEasgd, kResumedSettings, last > 3}, [&](RecordedRank& rank) {
      train_to(rank, last, last, saved);
      if (last == 9) rank.end();
    });
  }
  const RunRecord run = read_run(path);
  EXPECT_EQ(run.end, RunEnd::kFinished);
  EXPECT_EQ(run.summary->samples, 3 * 4 * (4 + 2 + 3));
  EXPECT_EQ(run.evaluations.size(), 3u);
}

// Steps are counted anew by samples, so the fewer ranks have numbers beyond the averager's, and new ranks take them
// over.
TEST(ResumedRecord, has_equal_steps_on_ranks_that_were_there_and_new_ones) {
  const TemporaryDirectory place;
  const std::string path = place.path() / "run", saved = checkpoint_in(path);
  int last = 0;
  for (const int ranks : {4, 2, 4}) {
    last += 6;
    record_job(path, {ranks, kAllreduce, kResumedSettings, last > 6}, [&](RecordedRank& rank) {
      train_to(rank, last, last, saved);
      if (last == 18) rank.end();
    });
  }
  EXPECT_EQ(read_run(path).end, RunEnd::kFinished);
  EXPECT_EQ(read_run(path).summary->samples, 6 * 4 * (4 + 2 + 4));
}

TEST(ResumedRecord, goes_on_where_ranks_are_in_different_steps) {
  const TemporaryDirectory place;
  const std::string path = place.path() / "run", saved = checkpoint_in(path);
  for (const bool resumes : {false, true}) {
    record_job(path, {2, "communicator=none lr=0.1", kResumedSettings, resumes}, [&](RecordedRank& rank) {
      for (int step = 0; step < 3 + 2 * rank.number(); ++step) rank.step();
      rank.averager().save(saved, "", 3);
      rank.evaluate({{1, 10}, {}, {}, {}});
      if (resumes) rank.end();
    });
  }
  EXPECT_EQ(read_run(path).end, RunEnd::kFinished);
  EXPECT_EQ(read_run(path).evaluations.size(), 2u);
}

TEST(ResumedRecord, goes_on_with_the_settings_of_the_beginning) {
  const TemporaryDirectory place;
  const std::string path = path_in(place), saved = checkpoint_in(path);
  on_ranks({"threads", 2}, [&](Transport& transport) {
    const auto record = [&](const char* options, const std::string& settings, bool loads) {
      RecordedRank rank(transport, options);
      if (loads) rank.averager().load(saved);
      rank.record(path, settings + "\nresume=on");
      rank.step();
      rank.averager().save(saved, "", 3);
      rank.evaluate({{1, 10}, {}, {}, {}});
      if (loads) rank.close();
    };
    const std::string settings = kRunSettings;
    record(kAllreduce, settings, false);
    for (const auto& [from, to] : {std::pair("batch=4", "batch=2"), std::pair("perplexity", "error")}) {
      std::string other = settings;
      other.replace(other.find(from), std::string(from).size(), to);
      expect_error(ExitCode::kConfiguration, "to go on with the run in this directory",
                   [&] { record(kAllreduce, other, true); });
    }
    record("communicator=allreduce lr=0.01", settings, true);
  });
  EXPECT_EQ(read_run(path).end, RunEnd::kFinished);
}

// Takes all defaults of easgd from a text that tells settings.
void forget_defaults(const std::filesystem::path& file) {
  std::string text = InputFile(file).read_whole(1 << 20);
  for (const std::string setting : {"tau", "order", "overlap", "allow-unstable", "compression"})
    text = std::regex_replace(text, std::regex("\"" + setting + "\": ?\"[^\"]*\",\\s*"), "");
  std::ofstream(file) << text;
}

TEST(ResumedRecord, goes_on_with_one_of_a_version_that_recorded_no_defaults) {
  const TemporaryDirectory place;
  const std::string path = path_in(place), saved = checkpoint_in(path);
  for (const bool resumes : {false, true}) {
    record_job(path, {2, "communicator=easgd lr=0.1", kResumedSettings, resumes}, [&](RecordedRank& rank) {
      train_to(rank, resumes ? 6 : 3, 3, saved);
      if (resumes) rank.end();
    });
    if (resumes) break;
    EXPECT_TRUE(read_run(path).settings.contains("tau"));
    for (const char* file : {"/config.json", "/metrics.jsonl"}) forget_defaults(path + file);
    EXPECT_FALSE(read_run(path).settings.contains("tau"));
  }
  EXPECT_EQ(read_run(path).end, RunEnd::kFinished);
}

void record_from(Transport& transport, const std::string& saved, const std::string& path) {
  RecordedRank rank(transport, kEasgd);
  EXPECT_TRUE(rank.averager().load(saved));
  rank.record(path, kResumedSettings);
  train_to(rank, 6, 0, "");
  rank.end();
}

TEST(ResumedRecord, begins_anew_if_it_was_killed_before_its_first_line) {
  const TemporaryDirectory place;
  const std::string first = place.path() / "first", saved = checkpoint_in(first), next = place.path() / "next";
  record_job(first, {2, kEasgd, kRunSettings}, [&](RecordedRank& rank) { train_to(rank, 3, 3, saved); });
  for (const char* left : {"", R"({"type":"hea)"}) {
    std::filesystem::remove_all(next);
    std::filesystem::create_directory(next);
    std::ofstream(next + "/metrics.jsonl") << left;
    on_ranks({"threads", 2}, [&](Transport& transport) { record_from(transport, saved, next); });
    EXPECT_EQ(read_run(next).end, RunEnd::kFinished) << left;
  }
  std::ofstream(first + "/metrics.jsonl").close();
  on_ranks({"threads", 2}, [&](Transport& transport) {
    expect_error(ExitCode::kBadData, "somebody has emptied it", [&] { record_from(transport, saved, first); });
  });
}

TEST(ResumedRecord, loses_no_checkpoint_that_nobody_gave_up) {
  const TemporaryDirectory place;
  const std::string path = path_in(place), saved = checkpoint_in(path);
  on_ranks({"threads", 2}, [&](Transport& transport) {
    const auto open = [&](RecordedRank& rank, const std::string& more) {
      RunRecorder(transport, rank.averager(), path, kRunSettings + more);
    };
    RecordedRank first(transport, kEasgd);
    open(first, "\nresume=on");  // nothing is there
    open(first, "\nresume=on");  // was killed before its first checkpoint
    first.step();
    first.averager().save(saved, "", 3);
    RecordedRank anew(transport, kEasgd);
    expect_error(ExitCode::kUsage, "has loaded no checkpoint", [&] { open(anew, "\nresume=on"); });
    RecordedRank later(transport, kEasgd);
    later.averager().load(saved);
    expect_error(ExitCode::kUsage, "would remove the checkpoint", [&] { open(later, "\noverwrite=on"); });
    expect_error(ExitCode::kUsage, "while no run was recorded", [&] { open(later, "\nresume=on"); });
    expect_error(ExitCode::kUsage, "contradict each other", [&] { open(later, "\nresume=on\noverwrite=on"); });
  });
  EXPECT_TRUE(holds_checkpoints(OutputFolder(path)));
}

TEST(OverwrittenRun, saves_where_the_former_one_had_later_checkpoints) {
  const TemporaryDirectory place;
  const std::string path = path_in(place), saved = checkpoint_in(path);
  for (const int last : {5, 2}) {
    record_job(path, {2, kEasgd, std::string(kRunSettings) + (last == 2 ? "\noverwrite=on" : "")},
               [&](RecordedRank& rank) { train_to(rank, last, last, saved); });
    EXPECT_EQ(committed_steps(saved), std::vector<std::int64_t>{last});
  }
}

// Ranks that take steps independently, with so many batches of the first rank and two of the second one in each join.
void expect_joins_counted(int of_first) {
  const TemporaryDirectory place;
  const std::string saved = checkpoint_in(path_in(place));
  for (const bool resumes : {false, true}) {
    record_job(path_in(place), {2, "communicator=easgd-async tau=2 lr=0.1", kResumedSettings, resumes},
               [&](RecordedRank& rank) {
                 for (int epoch = 0; epoch < 2; ++epoch) {
                   rank.join(rank.number() == 0 ? of_first : 2, 4);
                   rank.evaluate({{3, 20}, {}, {}, {}});
                   if (epoch == 0) rank.averager().save(saved, "", 3);
                 }
                 if (resumes) rank.end();
               });
  }
  const RunRecord run = read_run(path_in(place));
  EXPECT_EQ(run.end, RunEnd::kFinished);
  EXPECT_EQ(run.summary->samples, 3 * (of_first + 2) * 4);
  EXPECT_EQ(run.steps.size(), static_cast<std::size_t>(3 * of_first));
}

TEST(ResumedRecord, goes_on_after_joins_of_ranks_with_unequal_numbers_of_batches) {
  for (const int of_first : {5, 0}) expect_joins_counted(of_first);
}

}  // namespace
}  // namespace eave
