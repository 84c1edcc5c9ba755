// Measures all_reduce_sum between ranks that are threads of one process: the latency of one call, and large sums. Also
// measures the throughput of codecs, in bytes of float32 values per second.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "eave/device.h"
#include "eave/job.h"
#include "eave/random.h"
#include "eave/transport.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

const TransportKind* find_transport(const std::string& name) {
  for (const TransportKind& kind : transport_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

// One iteration is `kCalls` calls by all ranks, timed on rank 0. The time to start the ranks does not count.
constexpr int kCalls = 20;

double time_calls(int ranks, std::size_t size) {
  double seconds = 0;
  find_transport("threads")->run(ranks, [&](Transport& transport) {
    Buffer values(size);
    transport.all_reduce_sum(values.slice()).wait();
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) transport.all_reduce_sum(values.slice()).wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (transport.rank() == 0) seconds = taken.count();
  });
  return seconds / kCalls;
}

void threads_all_reduce(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const auto size = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) state.SetIterationTime(time_calls(ranks, size));
  state.SetBytesProcessed(state.iterations() * state.range(1) * static_cast<std::int64_t>(sizeof(float)));
}

BENCHMARK(threads_all_reduce)
    ->ArgsProduct({{2, 4}, {1, 270'000, 1'860'000}})
    ->ArgNames({"ranks", "floats"})
    ->UseManualTime();

// 256 KiB, which fit a cache. The values are normally distributed, the usual case for a codec that searches the
// largest.
std::vector<float> normal_numbers() {
  std::vector<float> values(std::size_t{1} << 16);
  RandomStream random({.seed = 1}, 0);
  for (float& value : values) value = random.normal();
  return values;
}

void run_codec(benchmark::State& state, const CodecKind& kind, bool decodes) {
  OptionValues options;
  for (const OptionSpec& option : kind.options) options.declare(option);
  const std::unique_ptr<Codec> codec = kind.make(options);
  std::vector<float> values = normal_numbers();
  std::vector<std::byte> bytes(encoded_bytes(*codec, values.size()));
  encode(*codec, values, bytes.data());
  for (auto _ : state) {
    decodes ? decode(*codec, values, bytes.data()) : encode(*codec, values, bytes.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(values.size() * sizeof(float)));
}

const bool kCodecsAreRegistered = [] {
  for (const CodecKind& kind : codec_kinds()) {
    for (const bool decodes : {false, true}) {
      benchmark::RegisterBenchmark(((decodes ? "decode/" : "encode/") + kind.name).c_str(),
                                   [&kind, decodes](benchmark::State& state) { run_codec(state, kind, decodes); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace eave
