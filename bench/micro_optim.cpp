// Measures how near the update at the end of a step, one fused pass over the parameters, is to the memory's bandwidth.
// `copy` only moves bytes; its rate is the limit to compare with.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "eave/device.h"
#include "eave/optimizer.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

constexpr double kLearningRate = 1e-6;

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, std::int64_t size) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.name != name) continue;
    OptionValues values;
    for (const OptionSpec& option : kind.options) values.declare(option);
    if (name == "sgd") values.set("momentum", "0.9", "bench");
    return kind.make({values, size, cpu_device()});
  }
  return nullptr;
}

void update(benchmark::State& state, const std::string& name, int bytes_per_parameter, bool elastic) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto optimizer = make_optimizer(name, state.range(0));
  Buffer parameters(size), gradients(size), center(elastic ? size : 0), difference(elastic ? size : 0);
  std::ranges::fill(gradients.slice(), 0.5F);
  std::optional<Pull> pull;
  if (elastic) pull = Pull{center.slice(), 0.1F, difference.slice()};
  for (auto _ : state) {
    optimizer->update(parameters.slice(), gradients.slice(), kLearningRate, pull);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * bytes_per_parameter);
}

void copy(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  Buffer from(size), to(size);
  for (auto _ : state) {
    std::ranges::copy(from.slice(), to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}

// The numbers of parameters of a resnet20 and an mlp, and one that fits no cache.
void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t size : {270'000, 1'860'000, 25'000'000}) benchmark->Arg(size);
}

BENCHMARK(copy)->Apply(sizes);
BENCHMARK_CAPTURE(update, sgd, "sgd", 20, false)->Apply(sizes);
BENCHMARK_CAPTURE(update, sgd_elastic, "sgd", 28, true)->Apply(sizes);
BENCHMARK_CAPTURE(update, adamw, "adamw", 28, false)->Apply(sizes);
BENCHMARK_CAPTURE(update, adamw_elastic, "adamw", 36, true)->Apply(sizes);

}  // namespace
}  // namespace eave
