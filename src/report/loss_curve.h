// A curve of steps with a bounded number of points, however many steps there are.
#pragma once

#include <cstddef>
#include <vector>

#include "report/run_record.h"

namespace eave {

// Each point stands for as many steps as every other one (the last may stand for fewer): it has the mean of their
// losses, and the rest from the last of them. When there are too many points, each two become one.
class LossCurve {
 public:
  explicit LossCurve(std::size_t limit) : limit_(limit) {}
  void add(const StepPoint& step);
  std::vector<StepPoint> points() const;

 private:
  struct Bucket {
    StepPoint last;
    double sum = 0;
    double counted = 0;  // steps that had a loss
    std::size_t steps = 0;
  };
  void halve();
  std::size_t limit_;
  std::size_t per_bucket_ = 1;
  std::vector<Bucket> buckets_;
};

}  // namespace eave
