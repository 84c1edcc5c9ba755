// Tests the run directories of programs with a training loop of their own: what readers of runs find in them.
#include "c/run/run_recorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "eave/agreement.h"
#include "report/read/run_reader.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const char* const kRunSettings =
    "metric=perplexity\nbetter=lower\nbatch=4\ntrain-samples=16\nmodel=line\ndata=none\nname=a";

// One rank of a job with a model of two parameters.
class RecordedRank {
 public:
  RecordedRank(Transport& transport, const std::string& options)
      : transport_(transport), averager_(transport, options, x_, g_) {}

  Averager& averager() { return averager_; }

  void step(std::int64_t samples = 0, double loss_sum = 0) {
    averager_.begin_step(samples, samples * transport_.size(), 0.1);
    for (std::size_t k = 0; k < x_.size(); ++k) g_[k] = x_[k] - static_cast<float>(transport_.rank());
    if (averager_.before_update(loss_sum))
      for (std::size_t k = 0; k < x_.size(); ++k) x_[k] -= 0.1f * g_[k];
    averager_.after_update();
  }

  void consensus() { averager_.write_consensus(center_); }

 private:
  Transport& transport_;
  std::vector<float> x_{1, 2}, g_{0, 0}, center_{0, 0};
  Averager averager_;
};

std::string path_in(const TemporaryDirectory& place) { return place.path() / "run"; }

TEST(RunRecorder, writes_a_run_that_readers_accept) {
  const TemporaryDirectory place;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=easgd tau=2 lr=0.1");
    RunRecorder run(transport, rank.averager(), path_in(place), kRunSettings);
    for (int step = 0; step < 3; ++step) {
      rank.step();
      run.set_loss(step + transport.rank());
    }
    rank.consensus();
    run.evaluate(transport, {{3, 20}, ModelScore{3.5, 30}, {}, {}});
    rank.step(2, 8);
    rank.consensus();
    run.evaluate(transport, {{2, 10}, {}, {}, {}});
    run.close(transport);
    rank.averager().finish();
  });
  const RunRecord run = read_run(path_in(place));
  EXPECT_EQ(run.end, RunEnd::kFinished);
  EXPECT_EQ(run.metric, (Metric{"perplexity", true}));
  EXPECT_EQ(run.ranks, 2);
  EXPECT_EQ(run.settings.at("communicator"), "easgd");
  EXPECT_EQ(run.settings.at("tau"), "2");
  EXPECT_EQ(run.settings.at("name"), "a");
  ASSERT_EQ(run.evaluations.size(), 2u);
  EXPECT_EQ(run.evaluations[0].record.samples, 3 * 4 * 2);
  EXPECT_EQ(run.evaluations[0].record.epoch, 1.5);
  EXPECT_EQ(run.evaluations[0].record.validation->accuracy, 30);
  EXPECT_GT(run.evaluations[0].record.distance_min, 0);
  EXPECT_EQ(run.evaluations[1].record.samples, 3 * 4 * 2 + 2 * 2);
  EXPECT_EQ(run.summary->evaluation.center.accuracy, 10);
  EXPECT_EQ(run.summary->steps, 4);
  EXPECT_GT(run.summary->bytes_per_rank, 0);
  ASSERT_EQ(run.steps.size(), 4u);
  EXPECT_EQ(run.steps[2].loss, 2);
  EXPECT_EQ(run.steps[3].loss, 4);  // loss_sum 8 of 2 samples
  EXPECT_EQ(state_of_run(path_in(place)), RunState::kFinished);
  EXPECT_FALSE(fs::exists(fs::path(path_in(place)) / kRunLock));
}

TEST(RunRecorder, counts_the_exchanges_with_an_asynchronous_center) {
  const TemporaryDirectory place;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=easgd-async async-order=round-robin tau=2 lr=0.1 steps=8");
    RunRecorder run(transport, rank.averager(), path_in(place), "");
    for (int step = 0; step < 8; ++step) rank.step();
    rank.consensus();
    run.evaluate(transport, {{1, 0.5}, {}, {}, {}});
    run.close(transport);
    rank.averager().finish();
  });
  const RunSummary summary = *read_run(path_in(place)).summary;
  EXPECT_EQ(summary.exchanges, 4);
  // In turns, one exchange of the other worker lies between two of a worker: three times for each of them.
  EXPECT_EQ(summary.staleness, (std::vector<std::int64_t>{0, 6}));
}

TEST(RunRecorder, scores_the_mean_the_first_and_the_best_worker) {
  const TemporaryDirectory place;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=easgd tau=2 lr=0.1");
    RunRecorder run(transport, rank.averager(), path_in(place), kRunSettings);
    rank.step();
    rank.consensus();
    const double own = 50 - 10 * (transport.rank() % 2);
    run.evaluate(transport, {{3, 20}, {}, ModelScore{4, 30}, ModelScore{5, own}});
    run.close(transport);
    rank.averager().finish();
  });
  const RunRecord run = read_run(path_in(place));
  ASSERT_EQ(run.evaluations.size(), 1u);
  for (const EvaluationRecord& record : {run.evaluations[0].record, run.summary->evaluation}) {
    ASSERT_TRUE(record.workers);
    EXPECT_EQ(record.workers->mean.accuracy, 30);
    EXPECT_EQ(record.workers->mean.loss, 4);
    EXPECT_EQ(record.workers->first.accuracy, 50);
    EXPECT_EQ(record.workers->best.accuracy, 40);  // lower is better
    EXPECT_EQ(record.workers->best_rank, 1);
  }
}

TEST(RunRecorder, writes_the_mean_of_the_workers) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    std::vector<float> x{0, 0}, g{0, 0}, into{0, 0};
    Averager averager(transport, "communicator=none lr=1", x, g);
    averager.begin_step(0, 0, 1);
    averager.before_update(0);
    x[0] = static_cast<float>(1 + 2 * transport.rank());
    averager.after_update();
    EXPECT_NE(std::string(error_of([&] { averager.write_mean(into); }).what()).find("between a consensus"),
              std::string::npos);
    averager.write_consensus(into);
    averager.write_mean(into);
    EXPECT_EQ(into, (std::vector<float>{2, 0}));
    averager.finish();
  });
}

TEST(RunRecorder, writes_a_line_of_each_rank_per_interval) {
  const TemporaryDirectory place;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=allreduce lr=0.1");
    RunRecorder run(transport, rank.averager(), path_in(place), "log-every=2");
    for (int step = 0; step < 6; ++step) rank.step();
    rank.consensus();
    run.evaluate(transport, {{1, 0.5}, {}, {}, {}});
    run.close(transport);
    rank.averager().finish();
  });
  const RunRecord run = read_run(path_in(place));
  EXPECT_EQ(run.metric, Metric{});
  EXPECT_EQ(run.steps.size(), 3u);
  EXPECT_EQ(run.summary->times_of_ranks.size(), 2u);
  EXPECT_EQ(read_config(fs::path(path_in(place)) / "config.json").at("model"), "not named");
}

// Runs `work` on one rank with a run, and returns the message of its error.
std::string refusal(const TemporaryDirectory& place, const std::string& settings,
                    const std::function<void(Transport&, RecordedRank&, RunRecorder&)>& work) {
  std::string message;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=allreduce lr=0.1");
    message = error_of([&] {
                RunRecorder run(transport, rank.averager(), path_in(place), settings);
                work(transport, rank, run);
              }).what();
  });
  return message;
}

const auto kNothing = [](Transport&, RecordedRank&, RunRecorder&) {};

TEST(RunRecorder, refuses_a_run_whose_last_step_was_not_evaluated) {
  const TemporaryDirectory place;
  EXPECT_EQ(refusal(place, "",
                    [](Transport& transport, RecordedRank& rank, RunRecorder& run) {
                      rank.consensus();
                      run.evaluate(transport, {{1, 0.5}, {}, {}, {}});
                      rank.step();
                      run.close(transport);
                    }),
            "the run has no evaluation after its last step, 1: evaluate the consensus once more before the run is "
            "closed");
}

TEST(RunRecorder, refuses_scores_that_no_consensus_can_have) {
  const auto evaluate = [](double score) {
    return [score](Transport& transport, RecordedRank& rank, RunRecorder& run) {
      rank.step();
      rank.consensus();
      run.evaluate(transport, {{1, score}, {}, {}, {}});
    };
  };
  const TemporaryDirectory a, b, c;
  EXPECT_EQ(refusal(a, "", evaluate(50)), "evaluate: test accuracy is 50; expected a share from 0 to 1");
  EXPECT_NE(
      refusal(b, "metric=perplexity\nbetter=lower", evaluate(INFINITY)).find("the test perplexity of the consensus"),
      std::string::npos);
  EXPECT_NE(refusal(c, "",
                    [](Transport& transport, RecordedRank& rank, RunRecorder& run) {
                      rank.consensus();
                      rank.step();
                      run.evaluate(transport, {{1, 1}, {}, {}, {}});
                    })
                .find("no consensus has been written since the last step"),
            std::string::npos);
}

TEST(RunRecorder, refuses_settings_that_contradict_the_averager) {
  const TemporaryDirectory place;
  EXPECT_EQ(refusal(place, "lr=0.3", kNothing),
            "settings of the run: lr=0.3, but the averager has lr=0.1: leave it out");
  EXPECT_EQ(refusal(place, "batch=x", kNothing), "settings of the run: batch=x: expected a whole number from 1 up");
  EXPECT_EQ(refusal(place, "better=less", kNothing),
            "settings of the run: better=less: expected higher or lower, which values of the metric are better");
}

TEST(RunRecorder, refuses_a_directory_that_holds_a_run) {
  const TemporaryDirectory place;
  EXPECT_NE(refusal(place, "batch=4", [](Transport&, RecordedRank& rank, RunRecorder&) { rank.step(5); })
                .find("5 samples on all ranks, but the run's batch of 4 allows 4"),
            std::string::npos);
  EXPECT_NE(refusal(place, "", kNothing).find("is not empty"), std::string::npos);
}

TEST(RunRecorder, records_a_failure_as_the_end) {
  const TemporaryDirectory place;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    RecordedRank rank(transport, "communicator=allreduce lr=0.1");
    RunRecorder run(transport, rank.averager(), path_in(place), "");
    rank.step();
    run.fail(Error(ExitCode::kDiverged, "it diverged"));
  });
  EXPECT_EQ(state_of_run(path_in(place)), RunState::kDiverged);
  EXPECT_EQ(read_run(path_in(place)).why, "it diverged");
}

// Steps from those of the averager to `last`, evaluated after each third one, and saved after `saved`.
void train_to(Transport& transport, RecordedRank& rank, RunRecorder& run, int last, int saved,
              const std::string& into) {
  while (rank.averager().steps() < last) {
    const auto step = static_cast<int>(rank.averager().steps()) + 1;
    rank.step();
    run.set_loss(step + transport.rank());
    if (step == saved) rank.averager().save(into, "", 3);
    if (step % 3 != 0) continue;
    rank.consensus();
    run.evaluate(transport, {{1.0 / step, 10.0 / step}, {}, {}, {}});
  }
}

class ResumedRun : public testing::TestWithParam<const char*> {
 protected:
  // A job that is killed after step 5, if it saved in step 4, or ends after 9.
  void record(const std::string& place, bool resumes, bool is_killed) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      RecordedRank rank(transport, GetParam());
      const std::string saved = place + "/checkpoint";
      if (resumes) {
        EXPECT_TRUE(rank.averager().load(saved));
      }
      RunRecorder run(transport, rank.averager(), place, std::string(kRunSettings) + (resumes ? "\nresume=on" : ""));
      train_to(transport, rank, run, is_killed ? 5 : 9, is_killed ? 4 : 0, saved);
      if (is_killed) return;
      run.close(transport);
      rank.averager().finish();
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
  on_ranks({"threads", 2}, [&](Transport& transport) {
    for (const bool resumes : {false, true}) {
      RecordedRank rank(transport, GetParam());
      if (resumes) rank.averager().load(path + "/checkpoint");
      RunRecorder run(transport, rank.averager(), path, std::string(kRunSettings) + "\nresume=on");
      train_to(transport, rank, run, 6, 6, path + "/checkpoint");
      run.close(transport);
      rank.averager().finish();
    }
  });
  const RunRecord run = read_run(path);
  EXPECT_EQ(run.end, RunEnd::kFinished);
  EXPECT_EQ(run.evaluations.size(), 2u);
  EXPECT_EQ(run.summary->steps, 6);
  EXPECT_EQ(run.summary->evaluation.center.accuracy, 10.0 / 6);
}

INSTANTIATE_TEST_SUITE_P(With, ResumedRun,
                         testing::Values("communicator=allreduce lr=0.1", "communicator=easgd tau=2 lr=0.1",
                                         "communicator=easgd-async async-order=round-robin tau=2 lr=0.1 steps=9"));

TEST(RunRecorder, goes_on_with_other_numbers_of_ranks) {
  const TemporaryDirectory place;
  const std::string path = place.path() / "run", saved = path + "/checkpoint";
  int last = 0;
  for (const int ranks : {4, 2, 3}) {
    last += 3;
    on_ranks({"threads", ranks}, [&](Transport& transport) {
      RecordedRank rank(transport, "communicator=easgd tau=2 lr=0.1");
      if (last > 3) {
        EXPECT_TRUE(rank.averager().load(saved));
      }
      RunRecorder run(transport, rank.averager(), path, std::string(kRunSettings) + "\nresume=on");
      train_to(transport, rank, run, last, last, saved);
      if (last < 9) return;
      run.close(transport);
      rank.averager().finish();
    });
  }
  const RunRecord run = read_run(path);
  EXPECT_EQ(run.end, RunEnd::kFinished);
  EXPECT_EQ(run.summary->samples, 3 * 4 * (4 + 2 + 3));
  EXPECT_EQ(run.evaluations.size(), 3u);
}

TEST(RunRecorder, goes_on_where_ranks_are_in_different_steps) {
  const TemporaryDirectory place;
  const std::string path = place.path() / "run", saved = path + "/checkpoint";
  for (const bool resumes : {false, true}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      RecordedRank rank(transport, "communicator=none lr=0.1");
      if (resumes) rank.averager().load(saved);
      RunRecorder run(transport, rank.averager(), path, std::string(kRunSettings) + "\nresume=on");
      for (int step = 0; step < 3 + 2 * transport.rank(); ++step) rank.step();
      rank.averager().save(saved, "", 3);
      rank.consensus();
      run.evaluate(transport, {{1, 10}, {}, {}, {}});
      if (!resumes) return;
      run.close(transport);
      rank.averager().finish();
    });
  }
  EXPECT_EQ(read_run(path).end, RunEnd::kFinished);
  EXPECT_EQ(read_run(path).evaluations.size(), 2u);
}

TEST(RunRecorder, goes_on_with_the_settings_of_the_beginning) {
  const TemporaryDirectory place;
  const std::string path = path_in(place), saved = path + "/checkpoint";
  on_ranks({"threads", 2}, [&](Transport& transport) {
    const auto record = [&](const char* options, const std::string& settings, bool loads) {
      RecordedRank rank(transport, options);
      if (loads) rank.averager().load(saved);
      RunRecorder run(transport, rank.averager(), path, settings + "\nresume=on");
      rank.step();
      rank.averager().save(saved, "", 3);
      rank.consensus();
      run.evaluate(transport, {{1, 10}, {}, {}, {}});
      if (!loads) return;
      run.close(transport);
    };
    const std::string settings = kRunSettings;
    record("communicator=allreduce lr=0.1", settings, false);
    for (const auto& [from, to] : {std::pair("batch=4", "batch=2"), std::pair("perplexity", "error")}) {
      std::string other = settings;
      other.replace(other.find(from), std::string(from).size(), to);
      expect_error(ExitCode::kConfiguration, "as in the run that goes on",
                   [&] { record("communicator=allreduce lr=0.1", other, true); });
    }
    record("communicator=allreduce lr=0.01", settings, true);
  });
  EXPECT_EQ(read_run(path).end, RunEnd::kFinished);
}

TEST(RunRecorder, loses_no_checkpoint_that_nobody_gave_up) {
  const TemporaryDirectory place;
  const std::string path = path_in(place), saved = path + "/checkpoint";
  on_ranks({"threads", 2}, [&](Transport& transport) {
    const auto open = [&](RecordedRank& rank, const std::string& more) {
      RunRecorder(transport, rank.averager(), path, kRunSettings + more);
    };
    RecordedRank first(transport, "communicator=easgd tau=2 lr=0.1");
    open(first, "\nresume=on");  // nothing is there
    open(first, "\nresume=on");  // was killed before its first checkpoint
    first.step();
    first.averager().save(saved, "", 3);
    RecordedRank anew(transport, "communicator=easgd tau=2 lr=0.1");
    expect_error(ExitCode::kUsage, "has loaded no checkpoint", [&] { open(anew, "\nresume=on"); });
    RecordedRank later(transport, "communicator=easgd tau=2 lr=0.1");
    later.averager().load(saved);
    expect_error(ExitCode::kUsage, "would remove the checkpoint", [&] { open(later, "\noverwrite=on"); });
    expect_error(ExitCode::kUsage, "while no run was recorded", [&] { open(later, "\nresume=on"); });
    expect_error(ExitCode::kUsage, "contradict each other", [&] { open(later, "\nresume=on\noverwrite=on"); });
  });
  EXPECT_TRUE(holds_checkpoints(OutputFolder(path)));
}

TEST(RunRecorder, notices_that_its_averager_is_gone) {
  const TemporaryDirectory place;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    auto rank = std::make_unique<RecordedRank>(transport, "communicator=allreduce lr=0.1");
    RunRecorder run(transport, rank->averager(), path_in(place), "");
    rank.reset();
    EXPECT_STREQ(error_of([&] { run.close(transport); }).what(),
                 "the averager of this run is closed: close the run before its averager");
  });
}

}  // namespace
}  // namespace eave
