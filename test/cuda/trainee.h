// A model that trains, on any device, and how far a GPU's results may be from the CPU's.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "eave/model.h"
#include "eave/optimizer.h"
#include "nn/specification.h"
#include "test/communicator/worker.h"
#include "test/cuda/gpu.h"

namespace eave {

inline constexpr std::int64_t kBatch = 6;
inline constexpr int kSteps = EAVE_PARITY_STEPS;  // if above 2, later passes replay a CUDA graph

struct TraineeSettings {
  int classes = 10;
  float label_smoothing = 0;
};

// A model that trains on one batch again and again, on any device.
class Trainee {
 public:
  Trainee(const std::string& model, ImageShape input, Compute& compute, const TraineeSettings& settings = {})
      : device_(compute.device()),
        model_(model_specification(model), input, settings.classes, kBatch, compute, settings.label_smoothing),
        parameters_(device_.allocate(static_cast<std::size_t>(model_.parameter_size()))),
        gradients_(device_.allocate(parameters_.size())),
        statistics_(device_.allocate(static_cast<std::size_t>(model_.statistics_size()))) {
    std::vector<float> parameters(parameters_.size()), statistics(statistics_.size());
    model_.initialise(3, parameters, statistics);
    device_.write(parameters_.slice(), parameters);
    device_.write(statistics_.slice(), statistics);
    const OptionValues values = values_of(find_kind(optimizer_kinds(), "sgd").options, {{"momentum", "0.9"}});
    optimizer_ = find_kind(optimizer_kinds(), "sgd").make({values, model_.parameter_size(), device_});
  }

  double step(const Batch& batch, bool in_parts) {
    return model_.score(batch.samples, start(batch, in_parts)).loss_sum;
  }

  // Starts a step and returns the ticket with which to ask for its loss.
  std::int64_t start(const Batch& batch, bool in_parts) {
    std::function<void(Slice)> ready;
    if (in_parts) ready = [](Slice) {};
    const std::int64_t ticket =
        model_.train(batch, 5, parameters_.slice(), statistics_.slice(), gradients_.slice(), 1, ready);
    optimizer_->update(parameters_.slice(), gradients_.slice(), 0.01, std::nullopt);
    return ticket;
  }
  Score evaluate(const Batch& batch) { return model_.evaluate(batch, parameters_.slice(), statistics_.slice()); }

  void spoil_first_weight() { device_.fill(parameters_.slice().first(1), std::numeric_limits<float>::quiet_NaN()); }

  // From now on the loss of each label of class 0 is infinite, and its gradient is finite.
  void forbid_class_0() {
    const auto bias = static_cast<std::size_t>(model_.parameters().back().offset);
    device_.fill(parameters_.slice().subspan(bias, 1), -std::numeric_limits<float>::infinity());
  }
  void leave_out_nonfinite_batches() { model_.leave_out_nonfinite_batches(); }

  std::vector<float> gradients() { return read(gradients_); }
  std::vector<float> parameters() { return read(parameters_); }
  std::vector<float> statistics() { return read(statistics_); }

 private:
  std::vector<float> read(Buffer& buffer) {
    std::vector<float> values(buffer.size());
    device_.read(buffer.slice(), values);
    return values;
  }

  Device& device_;
  Model model_;
  Buffer parameters_, gradients_, statistics_;
  std::unique_ptr<Optimizer> optimizer_;
};

// How far rounding may move the result of one pass, as a share of a vector's norm. fp32: sums of some thousand products
// in another order. tf32: 2^-11 of each factor. bf16: 2^-9 of each activation and weight, over some twenty layers.
inline double tolerance(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return 2e-5;
    case Precision::kTf32:
      return 1e-2;
    case Precision::kBf16:
      return 8e-2;
  }
  return 0;
}

}  // namespace eave
