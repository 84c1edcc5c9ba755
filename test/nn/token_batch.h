// A batch of random windows of tokens, for tests. About every sixth label counts for nothing.
#pragma once

#include "fixture.h"

namespace eave {

struct TokenBatch {
  TokenBatch(int positions, int vocabulary, std::int64_t samples, std::int64_t first_index = 0) {
    for (std::int64_t i = 0; i < samples; ++i) {
      RandomStream random({7, Purpose::kTest, 2}, static_cast<std::uint64_t>(first_index + i));
      const auto token = [&] { return random.below(static_cast<std::uint32_t>(vocabulary)); };
      for (int position = 0; position < positions; ++position) {
        inputs.push_back(static_cast<float>(token()));
        labels.push_back(random.below(6) == 0 && position > 0 ? kNoLabel : static_cast<std::int32_t>(token()));
        if (labels.back() == kNoLabel) ++without_loss;
      }
      indices.push_back(first_index + i);
    }
    batch = {samples, 0, inputs, labels, indices};
    batch.targets = positions;
  }
  TokenBatch(const TokenBatch&) = delete;

  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> indices;
  std::int64_t without_loss = 0;
  Batch batch;
};

}  // namespace eave
