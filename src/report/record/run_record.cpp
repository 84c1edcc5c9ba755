#include "report/record/run_record.h"

#include <array>
#include <cmath>
#include <limits>

namespace eave {

const char* word_of(RunEnd end) {
  constexpr std::array kWords = {"finished", "interrupted", "diverged", "failed"};  // in the order of RunEnd
  return kWords.at(static_cast<std::size_t>(end));
}

void LossCurve::add(const StepPoint& step) {
  if (buckets_.empty() || buckets_.back().steps == per_bucket_) {
    if (buckets_.size() == limit_) halve();
    if (buckets_.empty() || buckets_.back().steps == per_bucket_) buckets_.emplace_back();
  }
  Bucket& bucket = buckets_.back();
  bucket.last = step;
  ++bucket.steps;
  if (!std::isfinite(step.loss)) return;
  bucket.sum += step.loss;
  ++bucket.counted;
}

void LossCurve::halve() {
  std::vector<Bucket> half;
  for (std::size_t i = 0; i < buckets_.size(); i += 2) {
    half.push_back(buckets_[i]);
    if (i + 1 == buckets_.size()) break;
    const Bucket& next = buckets_[i + 1];
    half.back().last = next.last;
    half.back().sum += next.sum;
    half.back().counted += next.counted;
    half.back().steps += next.steps;
  }
  buckets_ = std::move(half);
  per_bucket_ *= 2;
}

std::vector<StepPoint> LossCurve::points() const {
  std::vector<StepPoint> points;
  for (const Bucket& bucket : buckets_) {
    points.push_back(bucket.last);
    points.back().loss = bucket.counted > 0 ? bucket.sum / bucket.counted : std::numeric_limits<double>::quiet_NaN();
  }
  return points;
}

}  // namespace eave
