// Vectors and helpers that the optimizer tests share.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/optimizer.h"
#include "eave/random.h"
#include "eave/update_steps.h"
#include "test/base/option_values.h"
#include "test/expectations.h"

namespace eave {

inline std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const Given& given, std::size_t size,
                                                 const std::vector<TensorInfo>& tensors = {},
                                                 Device& device = cpu_device()) {
  const OptimizerKind& kind = find_kind(optimizer_kinds(), name);
  return kind.make({values_of(kind.options, given), static_cast<std::int64_t>(size), device, tensors});
}

inline std::vector<float> random_floats(std::size_t size, std::uint64_t stream) {
  RandomStream random({.seed = 7, .purpose = Purpose::kTest}, stream);
  std::vector<float> values(size);
  for (float& value : values) value = random.normal();
  return values;
}

// An arena of `size` with random values in its tensors and zeros between them. Each tensor takes the next stream.
inline std::vector<float> random_arena(std::size_t size, const std::vector<TensorInfo>& tensors, std::uint64_t stream) {
  std::vector<float> values(size);
  for (const TensorInfo& tensor : tensors) {
    const std::vector<float> own = random_floats(static_cast<std::size_t>(tensor.size), stream++);
    std::ranges::copy(own, values.begin() + tensor.offset);
  }
  return values;
}

inline constexpr AdamwStep kAdamwStep{.rate = 0.01f,
                                      .root_scale = 3,
                                      .beta1 = 0.9f,
                                      .fresh1 = 0.1f,
                                      .beta2 = 0.99f,
                                      .fresh2 = 0.01f,
                                      .epsilon = 1e-8f,
                                      .decay = 1e-4f};

// The vectors that an update reads and writes: x parameters, g gradient, v velocity, w second moment, c center,
// d message.
struct Arena {
  explicit Arena(std::size_t size)
      : x(random_floats(size, 1)),
        g(random_floats(size, 2)),
        v(random_floats(size, 3)),
        w(random_floats(size, 4)),
        c(random_floats(size, 5)),
        d(random_floats(size, 6)) {
    for (float& value : w) value *= value;
  }
  Pull pull(float alpha, bool center_is_behind = false) { return {c, alpha, d, center_is_behind}; }
  std::vector<float> x, g, v, w, c, d;
};

// The message of the Error that `action` throws, or "" if it throws none.
inline std::string refusal(const std::function<void()>& action) {
  const Error error = error_of(action);
  return error.code() == ExitCode::kUsage || error.code() == ExitCode::kDone ? error.what() : "not a usage error";
}

}  // namespace eave
