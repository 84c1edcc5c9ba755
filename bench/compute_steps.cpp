// Times whole training steps of eave on one CPU thread; the peer of pytorch_steps.py.
//
//   compute_steps MODEL BATCH SECONDS    one case
//   compute_steps                        cases from standard input, one a line: the same three words, or "peak"
//
// A step is forward, cross-entropy, backward and the fused SGD update with momentum 0.9, on one fixed random batch.
// Each case is answered by one JSON line with the median CPU and wall seconds of a step; "peak" by the GFLOP/s of this
// core's multiply-adds. A model is planned and warmed up when its case first comes, and kept: later rounds time nothing
// but steps.
#include <dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu_clock.h"
#include "bench/fma_peak.h"
#include "eave/check.h"
#include "eave/compute.h"
#include "eave/model.h"
#include "eave/optimizer.h"
#include "eave/random.h"

namespace eave::bench {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr int kClasses = 10;
constexpr int kWarmUpSteps = 3;
constexpr std::size_t kLeastSteps = 3;
constexpr double kLearningRate = 1e-3;
constexpr double kPeakSeconds = 0.05;

ImageShape input_shape(const std::string& model) {
  static const std::map<std::string, ImageShape> shapes = {
      {"mlp", {28, 28, 1}}, {"lenet", {28, 28, 1}}, {"cifar7", {28, 28, 3}}, {"resnet20", {32, 32, 3}}};
  const auto found = shapes.find(model);
  if (found != shapes.end()) return found->second;
  throw Error(ExitCode::kUsage, "no model '" + model + "' here; there are mlp, lenet, cifar7 and resnet20");
}

std::unique_ptr<Optimizer> make_momentum_sgd(std::int64_t arena_size) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.name != "sgd") continue;
    OptionValues values;
    for (const OptionSpec& option : kind.options) values.declare(option);
    values.set("momentum", "0.9", "bench");
    return kind.make(values, arena_size);
  }
  throw Error(ExitCode::kInternal, "this build has no sgd");
}

// One model at one batch size with everything that a step needs.
class Trainee {
 public:
  Trainee(const std::string& name, std::int64_t batch, Compute& compute)
      : shape_(input_shape(name)),
        model_(model_specification(name), shape_, kClasses, batch, compute),
        optimizer_(make_momentum_sgd(model_.parameter_size())),
        parameters_(static_cast<std::size_t>(model_.parameter_size())),
        gradients_(static_cast<std::size_t>(model_.parameter_size())),
        statistics_(static_cast<std::size_t>(model_.statistics_size())),
        inputs_(static_cast<std::size_t>(batch * shape_.size())) {
    model_.initialise(kSeed, parameters_.slice(), statistics_.slice());
    RandomStream random({kSeed, Purpose::kTest}, 0);
    for (float& value : inputs_.slice()) value = random.uniform();
    for (std::int64_t i = 0; i < batch; ++i) {
      labels_.push_back(static_cast<std::int32_t>(random.below(kClasses)));
      indices_.push_back(i);
    }
  }

  void step() {
    const Batch batch{std::ssize(labels_), step_++, inputs_.slice(), labels_, indices_};
    model_.train(batch, kSeed, parameters_.slice(), statistics_.slice(), gradients_.slice(), 1.0F, [](Slice) {});
    optimizer_->update(parameters_.slice(), gradients_.slice(), kLearningRate, std::nullopt);
  }

 private:
  ImageShape shape_;
  Model model_;
  std::unique_ptr<Optimizer> optimizer_;
  Buffer parameters_, gradients_, statistics_, inputs_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> indices_;
  std::int64_t step_ = 0;
};

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Timer {
 public:
  void time_steps(const std::string& name, std::int64_t batch, double seconds) {
    Trainee& trainee = find(name, batch);
    std::vector<double> cpu, wall;
    for (const double begin = wall_seconds(); wall_seconds() - begin < seconds || cpu.size() < kLeastSteps;) {
      const double wall_start = wall_seconds(), cpu_start = cpu_seconds();
      trainee.step();
      cpu.push_back(cpu_seconds() - cpu_start);
      wall.push_back(wall_seconds() - wall_start);
    }
    std::printf(R"({"model": "%s", "batch": %lld, "steps": %zu, "cpu_seconds": %.9f, "wall_seconds": %.9f})",
                name.c_str(), static_cast<long long>(batch), cpu.size(), median(cpu), median(wall));
    std::puts("");
  }

 private:
  Trainee& find(const std::string& name, std::int64_t batch) {
    std::unique_ptr<Trainee>& trainee = trainees_[{name, batch}];
    if (!trainee) {
      trainee = std::make_unique<Trainee>(name, batch, *compute_);
      for (int i = 0; i < kWarmUpSteps; ++i) trainee->step();
    }
    return *trainee;
  }

  std::unique_ptr<Compute> compute_ = make_cpu_compute(1);
  std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<Trainee>> trainees_;
};

void answer(Timer& timer, const std::string& line) {
  std::istringstream words(line);
  std::string name;
  std::int64_t batch = 0;
  double seconds = 0;
  if (line == "peak") {
    std::printf("{\"gflops\": %.1f}\n", measure_fma_peak_gflops(kPeakSeconds));
  } else if (words >> name >> batch >> seconds && batch > 0 && seconds >= 0) {
    timer.time_steps(name, batch, seconds);
  } else {
    throw Error(ExitCode::kUsage, "'" + line + "': want MODEL BATCH SECONDS, such as 'lenet 32 1.5', or 'peak'");
  }
  std::fflush(stdout);
}

void run(const std::vector<std::string>& words) {
  Timer timer;
  std::string line;
  if (!words.empty()) {
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    answer(timer, line);
    return;
  }
  const dnnl_version_t& onednn = *dnnl_version();
  std::printf("{\"compiler\": \"%s\", \"onednn\": \"%d.%d.%d\"}\n", EAVE_BENCH_COMPILER, onednn.major, onednn.minor,
              onednn.patch);
  std::fflush(stdout);
  while (std::getline(std::cin, line)) answer(timer, line);
}

}  // namespace
}  // namespace eave::bench

int main(int argc, char** argv) {
  try {
    eave::bench::run({argv + 1, argv + argc});
    return 0;
  } catch (const eave::Error& error) {
    std::fprintf(stderr, "compute_steps: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compute_steps: %s\n", error.what());
    return static_cast<int>(eave::ExitCode::kInternal);
  }
}
