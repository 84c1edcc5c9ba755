// A model with parameters and a batch of random numbers, for tests.
#pragma once

#include <string>
#include <vector>

#include "device/operations.h"
#include "eave/model.h"
#include "eave/random.h"

namespace eave {

struct TestBatch {
  TestBatch(ImageShape shape, int classes, std::int64_t samples, std::int64_t first_index = 0, std::int64_t step = 0)
      : inputs(static_cast<std::size_t>(samples * shape.size())) {
    for (std::int64_t i = 0; i < samples; ++i) {
      RandomStream random({7, Purpose::kTest, 1}, static_cast<std::uint64_t>(first_index + i));
      for (std::int64_t k = 0; k < shape.size(); ++k) {
        inputs[static_cast<std::size_t>(i * shape.size() + k)] = random.normal();
      }
      labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(classes))));
      indices.push_back(first_index + i);
    }
    batch = {samples, step, inputs, labels, indices};
  }
  TestBatch(const TestBatch&) = delete;

  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> indices;
  Batch batch;
};

struct TestModel {
  TestModel(const std::string& text, ImageShape input, int classes, std::int64_t largest_batch, std::uint64_t seed = 1,
            float label_smoothing = 0)
      : compute(make_cpu_compute(1)),
        model(text, input, classes, largest_batch, *compute, label_smoothing),
        parameters(static_cast<std::size_t>(model.parameter_size())),
        gradients(parameters.size()),
        statistics(static_cast<std::size_t>(model.statistics_size())) {
    model.initialise(seed, parameters, statistics);
  }
  Score train(const Batch& batch, float weight = 1, std::uint64_t seed = 5) {
    return model.score(batch.samples,
                       model.train(batch, seed, parameters, statistics, gradients, weight, [](Slice) {}));
  }
  Score evaluate(const Batch& batch) { return model.evaluate(batch, parameters, statistics); }

  std::unique_ptr<Compute> compute;
  Model model;
  std::vector<float> parameters, gradients, statistics;
};

}  // namespace eave
