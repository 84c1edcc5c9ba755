// Vectors and helpers that the optimizer tests share.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eave/check.h"
#include "eave/optimizer.h"
#include "eave/random.h"
#include "eave/update_steps.h"

namespace eave {

using Given = std::vector<std::pair<std::string, std::string>>;

inline OptionValues values_of(const std::vector<OptionSpec>& specs, const Given& given) {
  OptionValues values;
  for (const OptionSpec& spec : specs) values.declare(spec);
  for (const auto& [name, text] : given) values.set(name, text, "command line");
  return values;
}

inline const OptimizerKind& find_optimizer(std::string_view name) {
  const auto& kinds = optimizer_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const OptimizerKind& kind) { return kind.name == name; });
  if (found == kinds.end()) throw std::logic_error("no optimizer " + std::string(name));
  return *found;
}

inline std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const Given& given, std::size_t size) {
  const OptimizerKind& kind = find_optimizer(name);
  return kind.make(values_of(kind.options, given), static_cast<std::int64_t>(size), cpu_device());
}

inline std::vector<float> random_floats(std::size_t size, std::uint64_t stream) {
  RandomStream random({.seed = 7, .purpose = Purpose::kTest}, stream);
  std::vector<float> values(size);
  for (float& value : values) value = random.normal();
  return values;
}

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
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code() == ExitCode::kUsage ? error.what() : "not a usage error";
  }
  return "";
}

}  // namespace eave
