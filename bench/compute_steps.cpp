// Times whole training steps of eave on one CPU thread; the peer of pytorch_steps.py.
//
//   compute_steps MODEL BATCH SECONDS    times one case
//   compute_steps                        reads cases from standard input, one a line: the same three words, or "peak"
//
// A step is forward, cross-entropy, backward and the fused update (bench/trainee.h), on one fixed random batch. The
// answer to a case is one JSON line with the median CPU seconds and wall seconds of a step. The answer to "peak" is the
// GFLOP/s of this core's multiply-adds. The first case with a model plans the model and warms it up. The program keeps
// it, so later cases time only steps.
#include <dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu_clock.h"
#include "bench/program.h"
#include "bench/trainee.h"
#include "device/fma_peak.h"
#include "eave/check.h"

namespace eave::bench {
namespace {

constexpr int kWarmUpSteps = 3;
constexpr std::size_t kLeastSteps = 3;
constexpr int kPeakTries = 200;  // of a fraction of a millisecond each

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

// GFLOP/s of fused multiply-adds of a core: the limit that a step's arithmetic is measured against.
double measure_peak() {
  double best = 0;
  for (int i = 0; i < kPeakTries; ++i) best = std::max(best, measure_fma_peak());
  if (best == 0) throw Error(ExitCode::kResource, "the peak of this kind of CPU cannot be measured");
  return best * 1e-9;
}

void answer(Timer& timer, const std::string& line) {
  std::istringstream words(line);
  std::string name;
  std::int64_t batch = 0;
  double seconds = 0;
  if (line == "peak") {
    std::printf("{\"gflops\": %.1f}\n", measure_peak());
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
  return eave::bench::run_program("compute_steps", [&] { eave::bench::run({argv + 1, argv + argc}); });
}
