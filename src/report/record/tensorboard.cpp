#include "report/record/tensorboard.h"

#include <algorithm>
#include <cmath>

namespace eave {
namespace {

constexpr double kEventSeconds = 1;

}  // namespace

void TensorBoard::write(const std::vector<StepRecord>& records) {
  for (const StepRecord& record : records) {
    add(record);
    if (!has_begun_ || sum_.seconds - begin_.seconds >= kEventSeconds) finish();
  }
}

void TensorBoard::add(const StepRecord& record) {
  StepRecord sum = record;
  sum.computing += sum_.computing;
  sum.exchanging += sum_.exchanging;
  sum.waiting += sum_.waiting;
  sum.loading += sum_.loading;
  sum.loss = sum_.loss;
  if (std::isfinite(record.loss)) {
    sum.loss += record.loss;
    ++losses_;
  }
  sum_ = sum;
  bytes_ += record.bytes;
}

void TensorBoard::finish() {
  if (sum_.step == begin_.step) return;
  const double seconds = std::max(sum_.seconds - begin_.seconds, 1e-9);
  std::vector<Scalar> scalars = {{"learning_rate", sum_.learning_rate}, {"bytes", static_cast<double>(bytes_)}};
  if (losses_ > 0) scalars.push_back({"loss", sum_.loss / losses_});
  if (has_begun_) {
    scalars.push_back({"samples_per_second", static_cast<double>(sum_.samples - begin_.samples) / seconds});
    scalars.push_back({"time/computing", sum_.computing / seconds});
    scalars.push_back({"time/exchanging", sum_.exchanging / seconds});
    scalars.push_back({"time/waiting", sum_.waiting / seconds});
    scalars.push_back({"time/loading", sum_.loading / seconds});
  }
  file_.write(sum_.step, scalars);
  begin_ = sum_;
  has_begun_ = true;
  sum_.computing = sum_.exchanging = sum_.waiting = sum_.loading = sum_.loss = losses_ = 0;
}

void TensorBoard::write(const EvaluationRecord& record) {
  std::vector<Scalar> scalars = {{"test/accuracy/center", record.center.accuracy},
                                 {"test/loss/center", record.center.loss},
                                 {"consensus_distance", record.distance_mean}};
  if (record.workers) {
    scalars.push_back({"test/accuracy/mean", record.workers->mean.accuracy});
    scalars.push_back({"test/accuracy/best_worker", record.workers->best.accuracy});
    scalars.push_back({"test/loss/mean", record.workers->mean.loss});
    scalars.push_back({"test/loss/best_worker", record.workers->best.loss});
  }
  if (record.validation) {
    scalars.push_back({"validation/accuracy", record.validation->accuracy});
    scalars.push_back({"validation/loss", record.validation->loss});
  }
  file_.write(record.step, scalars);
}

}  // namespace eave
