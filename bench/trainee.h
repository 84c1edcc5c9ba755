// One model at one batch size with everything that a step of training needs, for the programs that time steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eave/compute.h"
#include "eave/model.h"
#include "eave/optimizer.h"

namespace eave::bench {

// SGD with momentum 0.9.
std::unique_ptr<Optimizer> make_momentum_sgd(std::int64_t arena_size, Device& device);

// A step is forward, cross-entropy, backward and the fused update, on one fixed random batch: SGD with momentum 0.9, or
// AdamW for models of tokens. If the device takes images, the batch lies on it as bytes.
class Trainee {
 public:
  // `name` is the name of a model. Throws Error(kUsage) if the benchmarks do not know it. `compute` must outlive the
  // trainee.
  Trainee(const std::string& name, std::int64_t batch, Compute& compute);
  void step();  // enqueued on the device; the loss is not fetched

 private:
  struct Task {
    ImageShape shape;
    int classes = 10;
  };
  static Task task_of(const std::string& model);
  void load_images();
  void make_tokens();

  Task task_;
  Compute& compute_;
  Device& device_;
  Model model_;
  std::unique_ptr<Optimizer> optimizer_;
  Buffer parameters_, gradients_, statistics_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> indices_;
  std::unique_ptr<DeviceImages> images_;
  std::vector<float> inputs_;  // the batch if the device takes no images
  std::int64_t step_ = 0;
};

}  // namespace eave::bench
