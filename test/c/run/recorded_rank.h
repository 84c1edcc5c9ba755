// Jobs whose run is recorded, for tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "c/run/run_recorder.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {

inline constexpr const char* kRunSettings =
    "metric=perplexity\nbetter=lower\nbatch=4\ntrain-samples=16\nmodel=line\ndata=none\nname=a";
inline const std::string kResumedSettings = std::string(kRunSettings) + "\nresume=on";

inline constexpr const char* kAllreduce = "communicator=allreduce lr=0.1";
inline constexpr const char* kEasgd = "communicator=easgd tau=2 lr=0.1";

// One rank of a job with a model of two parameters.
class RecordedRank {
 public:
  RecordedRank(Transport& transport, const std::string& options)
      : transport_(transport), averager_(transport, options, x_, g_) {}

  int number() const { return transport_.rank(); }
  Averager& averager() { return averager_; }
  std::vector<float>& parameters() { return x_; }

  void step(std::int64_t samples = 0, double loss_sum = 0) {
    averager_.begin_step(samples, samples * transport_.size(), 0.1);
    end_step(loss_sum);
  }

  // Takes `count` steps within a join, each with this many samples, then waits for the ranks that have more.
  void join(int count, std::int64_t samples) {
    std::vector<double> rate = {0.1};
    bool leaves = false;
    for (int step = 0; averager_.begin_joined_step(step < count ? samples : 0, rate, leaves); ++step) end_step(0);
  }

  void consensus() { averager_.write_consensus(center_); }

  void record(const std::string& path, const std::string& settings) {
    run_.emplace(transport_, averager_, path, settings);
  }
  RunRecorder& run() { return *run_; }
  void score(const ModelScores& scores = {{1, 0.5}, {}, {}, {}}) { run_->evaluate(transport_, scores); }
  void evaluate(const ModelScores& scores = {{1, 0.5}, {}, {}, {}}) {
    consensus();
    score(scores);
  }
  void close() { run_->close(transport_); }
  void end() {
    close();
    averager_.finish();
  }

 private:
  void end_step(double loss_sum) {
    for (std::size_t k = 0; k < x_.size(); ++k) g_[k] = x_[k] - static_cast<float>(transport_.rank());
    if (averager_.before_update(loss_sum))
      for (std::size_t k = 0; k < x_.size(); ++k) x_[k] -= 0.1f * g_[k];
    averager_.after_update();
  }

  Transport& transport_;
  std::vector<float> x_{1, 2}, g_{0, 0}, center_{0, 0};
  Averager averager_;
  std::optional<RunRecorder> run_;
};

struct RecordedJob {
  int ranks = 1;
  std::string options = kAllreduce;
  std::string settings = {};
  bool loads = false;  // first, the checkpoint that is in the run's directory
};

inline std::string checkpoint_in(const std::string& path) { return path + "/checkpoint"; }

// Calls `work` on each rank of a job whose run is recorded in `path`.
inline void record_job(const std::string& path, const RecordedJob& job,
                       const std::function<void(RecordedRank&)>& work) {
  on_ranks({job.ranks == 1 ? "loopback" : "threads", job.ranks}, [&](Transport& transport) {
    RecordedRank rank(transport, job.options);
    if (job.loads) {
      EXPECT_TRUE(rank.averager().load(checkpoint_in(path)));
    }
    rank.record(path, job.settings);
    work(rank);
  });
}

inline std::string path_in(const TemporaryDirectory& place) { return place.path() / "run"; }

}  // namespace eave
