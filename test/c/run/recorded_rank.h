// One rank of a job whose run is recorded, for tests.
#pragma once

#include <string>
#include <vector>

#include "c/averager.h"
#include "test/temporary_directory.h"

namespace eave {

inline constexpr const char* kRunSettings =
    "metric=perplexity\nbetter=lower\nbatch=4\ntrain-samples=16\nmodel=line\ndata=none\nname=a";

// One rank of a job with a model of two parameters.
class RecordedRank {
 public:
  RecordedRank(Transport& transport, const std::string& options)
      : transport_(transport), averager_(transport, options, x_, g_) {}

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
};

inline std::string path_in(const TemporaryDirectory& place) { return place.path() / "run"; }

}  // namespace eave
