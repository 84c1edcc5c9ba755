// Measures the cost of the NaN gate, which keeps updates from writing values that are not finite. It compares the
// update with the same source compiled without the gate.
#include <benchmark/benchmark.h>

#include <vector>

#include "eave/update_steps.h"
#include "kernels/flat/flat_pass.h"

// kernels/cpu/passes.cpp, compiled with bench/ungated/kernels/flat/finite.h.
namespace eave::ungated {
bool run(const FlatPass& pass);
}  // namespace eave::ungated

namespace eave {
namespace {

struct Vectors {
  explicit Vectors(std::size_t size) : x(size, 1), g(size, 0.5F), v(size, 0), w(size, 1), c(size, 1), d(size, 0) {}
  std::vector<float> x, g, v, w, c, d;
};

void sgd(benchmark::State& state, bool is_gated, bool is_elastic) {
  Vectors a(static_cast<std::size_t>(state.range(0)));
  const SgdStep step{.step_scale = 1e-6F, .momentum = 0.9F};
  const Pull pull{a.c, 0.1F, a.d, false};
  const FlatPass pass = {passes::HeavyBall{step}, {a.x, a.g, a.v}, {}, is_elastic ? &pull : nullptr};
  const auto run = is_gated ? cpu::run : ungated::run;
  for (auto _ : state) benchmark::DoNotOptimize(run(pass));
}

void adamw(benchmark::State& state, bool is_gated) {
  Vectors a(static_cast<std::size_t>(state.range(0)));
  const AdamwStep step{.rate = 1e-6F,
                       .root_scale = 1,
                       .beta1 = 0.9F,
                       .fresh1 = 0.1F,
                       .beta2 = 0.999F,
                       .fresh2 = 1e-3F,
                       .epsilon = 1e-8F};
  const FlatPass pass = {passes::Adamw{step}, {a.x, a.g, a.v, a.w}};
  const auto run = is_gated ? cpu::run : ungated::run;
  for (auto _ : state) benchmark::DoNotOptimize(run(pass));
}

// The numbers of parameters of a lenet, a resnet20 and an mlp, and one that fits no cache.
void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t size : {62'000, 270'000, 1'860'000, 25'000'000}) benchmark->Arg(size);
}

BENCHMARK_CAPTURE(sgd, gated, true, false)->Apply(sizes);
BENCHMARK_CAPTURE(sgd, ungated, false, false)->Apply(sizes);
BENCHMARK_CAPTURE(sgd, elastic_gated, true, true)->Apply(sizes);
BENCHMARK_CAPTURE(sgd, elastic_ungated, false, true)->Apply(sizes);
BENCHMARK_CAPTURE(adamw, gated, true)->Apply(sizes);
BENCHMARK_CAPTURE(adamw, ungated, false)->Apply(sizes);

}  // namespace
}  // namespace eave
