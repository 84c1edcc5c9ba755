// Tests the run directories of programs with a training loop of their own: what readers of runs find in them.
#include "c/run/run_recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>

#include "base/files/input_file.h"
#include "eave/agreement.h"
#include "report/read/run_reader.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"
#include "test/c/run/recorded_rank.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

TEST(RunRecorder, writes_a_run_that_readers_accept) {
  const TemporaryDirectory place;
  record_job(path_in(place), {2, kEasgd, kRunSettings}, [&](RecordedRank& rank) {
    for (int step = 0; step < 3; ++step) {
      rank.step();
      rank.run().set_loss(step + rank.number());
    }
    rank.evaluate({{3, 20}, ModelScore{3.5, 30}, {}, {}});
    rank.step(2, 8);
    rank.evaluate({{2, 10}, {}, {}, {}});
    rank.end();
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

TEST(RunRecorder, records_the_rate_at_which_the_optimizer_took_the_step) {
  const TemporaryDirectory place;
  record_job(path_in(place), {2, kAllreduce, kRunSettings}, [&](RecordedRank& rank) {
    EXPECT_THROW(rank.averager().change_rate(0.05), Error);
    rank.averager().begin_step(0, 0, 0.1);
    EXPECT_THROW(rank.averager().change_rate(-1), Error);
    rank.averager().change_rate(0.05);
    rank.averager().before_update(0);
    rank.averager().after_update();
    rank.evaluate({{3, 20}, {}, {}, {}});
    rank.end();
  });
  const std::string metrics = read_file(path_in(place) + "/metrics.jsonl", 1 << 20);
  EXPECT_NE(metrics.find("\"learning_rate\":0.05,"), std::string::npos) << metrics;
}

TEST(RunRecorder, counts_the_exchanges_with_an_asynchronous_center) {
  const TemporaryDirectory place;
  record_job(path_in(place), {2, "communicator=easgd-async async-order=round-robin tau=2 lr=0.1 steps=8"},
             [&](RecordedRank& rank) {
               for (int step = 0; step < 8; ++step) rank.step();
               rank.evaluate();
               rank.end();
             });
  const RunSummary summary = *read_run(path_in(place)).summary;
  EXPECT_EQ(summary.exchanges, 4);
  // In turns, one exchange of the other worker lies between two of a worker: three times for each of them.
  EXPECT_EQ(summary.staleness, (std::vector<std::int64_t>{0, 6}));
}

// Two joins of ranks with 5, 2 and no batches, each followed by an evaluation.
RunRecord record_joins(const TemporaryDirectory& place, const std::string& options) {
  record_job(path_in(place), {3, options, kRunSettings}, [&](RecordedRank& rank) {
    const std::vector<int> batches = {5, 2, 0};
    for (int epoch = 0; epoch < 2; ++epoch) {
      rank.join(batches[static_cast<std::size_t>(rank.number())], 4);
      rank.evaluate({{3, 20}, {}, {}, {}});
    }
    rank.end();
  });
  return read_run(path_in(place));
}

TEST(RunRecorder, counts_the_samples_of_ranks_with_unequal_numbers_of_batches) {
  for (const std::string options : {kAllreduce, "communicator=easgd-async tau=2 lr=0.1",
                                    "communicator=downpour tau=2 lr=0.1", "communicator=none lr=0.1"}) {
    const TemporaryDirectory place;
    const RunRecord run = record_joins(place, options);
    EXPECT_EQ(run.end, RunEnd::kFinished) << options;
    ASSERT_EQ(run.evaluations.size(), 2u) << options;
    EXPECT_EQ(run.evaluations[0].record.samples, 7 * 4) << options;
    EXPECT_EQ(run.evaluations[0].record.step, 5) << options;
    EXPECT_EQ(run.summary->samples, 14 * 4) << options;
    EXPECT_EQ(run.summary->epochs, 14 * 4 / 16.0) << options;
    EXPECT_EQ(run.summary->steps, 10) << options;
    ASSERT_EQ(run.steps.size(), 10u) << options;
    EXPECT_EQ(run.steps[9].epoch, 14 * 4 / 16.0) << options;
  }
}

TEST(RunRecorder, has_no_line_of_a_rank_that_only_waits_for_the_other_ranks) {
  const TemporaryDirectory place;
  record_joins(place, "communicator=easgd-async tau=2 lr=0.1");
  const std::string metrics = read_file(path_in(place) + "/metrics.jsonl", 1 << 20);
  EXPECT_EQ(metrics.find("\"type\":\"step\",\"rank\":2"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\"type\":\"step\",\"rank\":1,\"step\":7,\"samples\":36"), std::string::npos) << metrics;
}

// Two evaluations, each after four steps, in which rank 1 takes 25 ms longer than rank 0.
RunRecord record_slow_rank(const std::string& options) {
  const TemporaryDirectory place;
  record_job(path_in(place), {2, options}, [&](RecordedRank& rank) {
    for (int evaluation = 0; evaluation < 2; ++evaluation) {
      for (int step = 0; step < 4; ++step) {
        if (rank.number() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(25));
        rank.step();
      }
      rank.evaluate();
    }
    rank.end();
  });
  return read_run(path_in(place));
}

// Otherwise methods that do not wait in their steps would seem to reach a target before they have. local-sgd waits
// where its ranks meet to check that their samples add up.
TEST(RunRecorder, counts_the_wait_for_a_slow_rank_as_training) {
  for (const std::string options : {"communicator=none", "communicator=local-sgd tau=4 lr=0.1"}) {
    const RunRecord run = record_slow_rank(options);
    EXPECT_GE(run.evaluations[0].record.seconds, 0.1) << options;
    EXPECT_GE(run.evaluations[1].record.seconds, 0.2) << options;
    EXPECT_GT(run.summary->waiting_share, 0.25) << options;  // rank 0 waits nearly all the time, rank 1 never
  }
}

TEST(RunRecorder, scores_the_mean_the_first_and_the_best_worker) {
  const TemporaryDirectory place;
  record_job(path_in(place), {3, kEasgd, kRunSettings}, [&](RecordedRank& rank) {
    rank.step();
    rank.consensus();
    const double own = 50 - 10 * (rank.number() % 2);
    rank.score({{3, 20}, {}, ModelScore{4, 30}, ModelScore{5, own}});
    rank.end();
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
  record_job(path_in(place), {2, kAllreduce, "log-every=2"}, [&](RecordedRank& rank) {
    for (int step = 0; step < 6; ++step) rank.step();
    rank.evaluate();
    rank.end();
  });
  const RunRecord run = read_run(path_in(place));
  EXPECT_EQ(run.metric, Metric{});
  EXPECT_EQ(run.steps.size(), 3u);
  EXPECT_EQ(run.summary->times_of_ranks.size(), 2u);
  EXPECT_EQ(read_config(fs::path(path_in(place)) / "config.json").at("model"), "not named");
}

// Runs `work` on one rank with a run, and returns the message of its error.
std::string refusal(const TemporaryDirectory& place, const std::string& settings,
                    const std::function<void(RecordedRank&)>& work) {
  std::string message;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    RecordedRank rank(transport, kAllreduce);
    message = error_of([&] {
                rank.record(path_in(place), settings);
                work(rank);
              }).what();
  });
  return message;
}

const auto kNothing = [](RecordedRank&) {};

TEST(RunRecorder, refuses_a_run_whose_last_step_was_not_evaluated) {
  const TemporaryDirectory place;
  EXPECT_EQ(refusal(place, "",
                    [](RecordedRank& rank) {
                      rank.evaluate();
                      rank.step();
                      rank.close();
                    }),
            "the run has no evaluation after its last step, 1: evaluate the consensus once more before the run is "
            "closed");
}

TEST(RunRecorder, refuses_scores_that_no_consensus_can_have) {
  const auto evaluate = [](double score) {
    return [score](RecordedRank& rank) {
      rank.step();
      rank.evaluate({{1, score}, {}, {}, {}});
    };
  };
  const TemporaryDirectory a, b, c, d, e;
  EXPECT_EQ(refusal(a, "", evaluate(50)), "evaluate: test accuracy is 50; expected a share from 0 to 1");
  EXPECT_NE(
      refusal(b, "metric=perplexity\nbetter=lower", evaluate(INFINITY)).find("the test perplexity of the consensus"),
      std::string::npos);
  EXPECT_EQ(refusal(d, "", evaluate(1.00001)), "evaluate: test accuracy is 1.00001; expected a share from 0 to 1");
  EXPECT_EQ(refusal(e, "metric=bleu", evaluate(1e300)),
            "training diverged: the test bleu of the consensus is 1e+300, and a run records at most 1e+39; try a "
            "smaller learning rate, or warm-up");
  EXPECT_NE(refusal(c, "",
                    [](RecordedRank& rank) {
                      rank.consensus();
                      rank.step();
                      rank.score({{1, 1}, {}, {}, {}});
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
  for (const std::string order : {"overwrite=yes", "overwrite=true", "resume=1", "resume="})
    EXPECT_EQ(refusal(place, order, kNothing), "settings of the run: " + order + ": expected on or off");
  EXPECT_EQ(refusal(place, "format=9", kNothing),
            "settings of the run: config.json has a format of its own; give 'format=9' another name");
}

// Otherwise runs with the same period, one of which names it, would count as different methods.
TEST(RunRecorder, records_options_of_the_method_that_nobody_gave) {
  const TemporaryDirectory place;
  record_job(path_in(place), {1, "communicator=easgd lr=0.1", "order=x\nseed=7\ncompression=none\nwidth=3"},
             [&](RecordedRank& rank) {
               rank.step();
               rank.evaluate();
               rank.close();
             });
  const std::map<std::string, std::string> settings = read_run(path_in(place)).settings;
  EXPECT_EQ(settings.at("tau"), "10");
  EXPECT_EQ(settings.at("order"), "paper");
  EXPECT_EQ(settings.at("config-order"), "x");
  EXPECT_EQ(settings.at("seed"), "7");
  EXPECT_EQ(settings.at("width"), "3");
  EXPECT_FALSE(settings.contains("config-compression"));
}

TEST(RunRecorder, refuses_a_directory_that_holds_a_run) {
  const TemporaryDirectory place;
  EXPECT_NE(refusal(place, "batch=4", [](RecordedRank& rank) { rank.step(5); })
                .find("5 samples on all ranks, but the run's batch of 4 allows 4"),
            std::string::npos);
  EXPECT_NE(refusal(place, "", kNothing).find("is not empty"), std::string::npos);
}

TEST(RunRecorder, records_a_failure_as_the_end) {
  const TemporaryDirectory place;
  record_job(path_in(place), {}, [&](RecordedRank& rank) {
    rank.step();
    rank.run().fail(Error(ExitCode::kDiverged, "it diverged"));
  });
  EXPECT_EQ(state_of_run(path_in(place)), RunState::kDiverged);
  EXPECT_EQ(read_run(path_in(place)).why, "it diverged");
}

TEST(RunRecorder, tells_at_a_failure_of_all_steps_before) {
  for (const int every : {1, 2}) {
    const TemporaryDirectory place;
    record_job(path_in(place), {1, kAllreduce, "log-every=" + std::to_string(every)}, [&](RecordedRank& rank) {
      for (const double loss : {3.0, 4.0, 5.0}) {
        rank.step();
        rank.run().set_loss(loss);
      }
      rank.run().fail(Error(ExitCode::kDiverged, "it diverged"));
    });
    const RunRecord run = read_run(path_in(place));
    ASSERT_EQ(run.steps.size(), every == 1 ? 3u : 2u);
    EXPECT_EQ(run.steps.back().step, 3);
    EXPECT_EQ(run.steps.back().loss, 5);
  }
}

TEST(RunRecorder, notices_that_its_averager_is_gone) {
  const TemporaryDirectory place;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    auto rank = std::make_unique<RecordedRank>(transport, kAllreduce);
    RunRecorder run(transport, rank->averager(), path_in(place), "");
    rank.reset();
    EXPECT_STREQ(error_of([&] { run.close(transport); }).what(),
                 "the averager of this run is closed: close the run before its averager");
  });
}

}  // namespace
}  // namespace eave
