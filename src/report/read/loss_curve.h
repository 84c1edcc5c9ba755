// A curve of training losses whose number of points is bounded, however many steps there are.
#pragma once

#include <cstddef>
#include <vector>

#include "report/record/run_record.h"

namespace eave {

// All points cover the same number of steps, except that the last may cover fewer. A point has the mean loss of its
// steps, and the other values of the last step. If there are too many points, neighbouring points are merged in pairs.
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
