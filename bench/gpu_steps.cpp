// Times whole training steps of eave on one GPU; the peer of peers/pytorch_gpu.py, which takes the same words.
//
//   gpu_steps [cpu]     reads cases from standard input, one a line (cpu: on the CPU, only to try this program)
//
//   MODEL BATCH PRECISION SECONDS   times steps for about SECONDS, as in "lenet 128 bf16 0.5". Tunes as --autotune
//                                   does, except with precision bf16-untuned or tf32-untuned.
//   drop                            frees the models made so far, and their memory
//   copy BYTES                      bytes per second, read plus written, when copying BYTES on the GPU
//   update PARAMETERS KIND          seconds of the fused update; KIND: plain, pull (with an elastic pull), or center
//                                   (with a pull that also moves the center)
//
// A step is forward, cross-entropy, backward and the fused SGD update with momentum 0.9, on one fixed random batch that
// lies on the GPU as bytes. Every step makes inputs of them there; the loss is not fetched. The answer to a case is one
// line of JSON, with "error" if the case failed. The first case with a model plans it and warms it up, which takes
// "prepare_seconds"; the program keeps it until "drop". "seconds" is the median over chunks of steps, each of at least
// 50 ms of wall-clock time between two waits for the GPU. "memory_bytes" is the GPU memory that the warm model took.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/program.h"
#include "bench/trainee.h"
#include "device/cuda_module.h"
#include "eave/check.h"
#include "eave/update_steps.h"

namespace eave::bench {
namespace {

constexpr int kWarmUpSteps = 12;  // as in peers/pytorch_gpu.py
constexpr std::size_t kLeastChunks = 5;
constexpr double kChunkSeconds = 0.05;
constexpr double kMicroSeconds = 0.3;  // how long to time copies and updates

CudaSettings settings_of(const std::string& word) {
  for (const auto& [name, precision] : {std::pair("tf32", Precision::kTf32), std::pair("bf16", Precision::kBf16)}) {
    if (word == name) return {.precision = precision, .autotune = true};
    if (word == std::string(name) + "-untuned") return {.precision = precision};
  }
  throw Error(ExitCode::kUsage, "no precision '" + word + "' here; there are tf32, bf16, and each with -untuned");
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Free GPU memory by the driver's count. The program does not link the driver, so it opens it at run time.
std::size_t free_bytes_of_gpu() {
  using Query = int (*)(std::size_t*, std::size_t*);
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  static const auto query = driver == nullptr ? nullptr : reinterpret_cast<Query>(dlsym(driver, "cuMemGetInfo_v2"));
  std::size_t free = 0, total = 0;
  return query != nullptr && query(&free, &total) == 0 ? free : 0;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Timed {
  std::size_t calls = 0;
  double seconds = 0;  // of one call
};

Timed time_calls(Device& device, const std::function<void()>& call, double seconds) {
  const auto time_chunk = [&](std::size_t calls) {
    device.wait();
    const double begin = now();
    for (std::size_t i = 0; i < calls; ++i) call();
    device.wait();
    return (now() - begin) / static_cast<double>(calls);
  };
  const auto calls_of = [](double each) {
    return static_cast<std::size_t>(std::max(1.0, std::round(kChunkSeconds / each)));
  };
  const std::size_t calls = calls_of(time_chunk(calls_of(time_chunk(1))));
  std::vector<double> chunks;
  for (const double begin = now(); now() - begin < seconds || chunks.size() < kLeastChunks;) {
    chunks.push_back(time_chunk(calls));
  }
  return {calls * chunks.size(), median(chunks)};
}

class Timer {
 public:
  explicit Timer(bool on_gpu) {
    if (on_gpu) gpu_ = open_cuda_module().open_device(0);
  }

  std::string greeting() {
    return "{\"eave_device\": \"" + device().name() + "\", \"eave_compiler\": \"" EAVE_BENCH_COMPILER "\"}";
  }

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string word, kind;
    std::int64_t count = 0;
    double seconds = 0;
    words >> word;
    if (word == "drop") {
      trainees_.clear();
      return "{}";
    }
    if (word == "copy" && words >> count && count >= 8) return time_copy(static_cast<std::size_t>(count) / 4);
    if (word == "update" && words >> count >> kind && count > 0)
      return time_update(static_cast<std::size_t>(count), kind);
    if (words >> count >> kind >> seconds && count > 0) return time_steps(word, count, kind, seconds);
    throw Error(
        ExitCode::kUsage,
        "'" + line + "': want 'MODEL BATCH PRECISION SECONDS', 'drop', 'copy BYTES' or 'update PARAMETERS KIND'");
  }

 private:
  struct Ready {
    std::unique_ptr<Compute> compute;
    std::unique_ptr<Trainee> trainee;
    double prepare_seconds = 0;
    TuningCounts tuning;
    std::size_t memory_bytes = 0;
  };

  Device& device() { return gpu_ ? *gpu_ : cpu_device(); }

  std::unique_ptr<Compute> make_compute(const std::string& precision) {
    CudaSettings settings = settings_of(precision);
    settings.counts = &counts_;
    counts_ = {};
    return gpu_ ? open_cuda_module().make_compute(*gpu_, settings) : make_cpu_compute(1);
  }

  Ready& find(const std::string& model, std::int64_t batch, const std::string& precision) {
    Ready& ready = trainees_[model + " " + std::to_string(batch) + " " + precision];
    if (ready.trainee) return ready;
    const std::size_t before = free_bytes_of_gpu();
    const double begin = now();
    ready.compute = make_compute(precision);
    ready.trainee = std::make_unique<Trainee>(model, batch, *ready.compute);
    for (int i = 0; i < kWarmUpSteps; ++i) ready.trainee->step();
    device().wait();
    ready.prepare_seconds = now() - begin;
    ready.tuning = counts_;
    ready.memory_bytes = before - std::min(before, free_bytes_of_gpu());
    return ready;
  }

  std::string time_steps(const std::string& model, std::int64_t batch, const std::string& precision, double seconds) {
    Ready& ready = find(model, batch, precision);
    const Timed timed = time_calls(
        device(), [&] { ready.trainee->step(); }, seconds);
    std::ostringstream text;
    text << "{\"model\": \"" << model << "\", \"batch\": " << batch << ", \"precision\": \"" << precision
         << "\", \"prepare_seconds\": " << ready.prepare_seconds << ", \"tuned\": " << ready.tuning.timed
         << ", \"tuning_seconds\": " << ready.tuning.seconds << ", \"memory_bytes\": " << ready.memory_bytes
         << ", \"steps\": " << timed.calls << ", \"seconds\": " << timed.seconds << "}";
    return text.str();
  }

  std::string time_copy(std::size_t size) {
    Buffer from = device().allocate(size), into = device().allocate(size);
    device().fill(from.slice(), 1.5F);
    const Timed timed = time_calls(
        device(), [&] { device().copy(into.slice(), from.slice()); }, kMicroSeconds);
    return "{\"bytes_per_second\": " + std::to_string(2 * sizeof(float) * static_cast<double>(size) / timed.seconds) +
           "}";
  }

  std::string time_update(std::size_t size, const std::string& kind) {
    if (kind != "plain" && kind != "pull" && kind != "center") {
      throw Error(ExitCode::kUsage, "no update '" + kind + "' here; there are plain, pull and center");
    }
    const std::size_t pulled = kind == "plain" ? 0 : size;
    Buffer parameters = device().allocate(size), gradients = device().allocate(size),
           velocity = device().allocate(size);
    Buffer center = device().allocate(pulled), difference = device().allocate(pulled);
    device().fill(gradients.slice(), 1e-3F);
    const SgdStep step{.step_scale = 1e-3F, .momentum = 0.9F, .weight_decay = 1e-4F};
    const Pull pull{center.slice(), 0.1F, difference.slice(), kind == "center"};
    const auto update = [&] {
      device().update_sgd(parameters.slice(), gradients.slice(), velocity.slice(), step, pulled > 0 ? &pull : nullptr);
    };
    return "{\"seconds\": " + std::to_string(1e9 * time_calls(device(), update, kMicroSeconds).seconds) + "e-9}";
  }

  TuningCounts counts_;  // tuning of the model that is being made
  std::unique_ptr<Device> gpu_;
  std::map<std::string, Ready> trainees_;
};

std::string quote(std::string text) {
  for (char& c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '\'';
  }
  return "\"" + text + "\"";
}

void run(bool on_gpu) {
  Timer timer(on_gpu);
  std::puts(timer.greeting().c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::string found;
    try {
      found = timer.answer(line);
    } catch (const Error& error) {  // mostly out of memory, so free all models for the next case
      timer.answer("drop");
      found = "{\"error\": " + quote(error.what()) + "}";
    }
    std::puts(found.c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace eave::bench

int main(int argc, char** argv) {
  return eave::bench::run_program("gpu_steps", [&] { eave::bench::run(argc < 2 || std::string(argv[1]) != "cpu"); });
}
