// A run directory that grows while a test watches it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "report/record/metrics_writer.h"
#include "test/temporary_directory.h"

namespace eave {

class Watching : public testing::Test {
 protected:
  void append(const std::string& file, const std::string& text) const {
    std::ofstream(place / file, std::ios::app | std::ios::binary) << text;
  }
  void begin(const std::string& run, const std::map<std::string, std::string>& config) const {
    std::filesystem::create_directories(place / run);
    RunHeader header;
    header.config = config;
    header.communicator = "easgd";
    header.model = "mlp";
    header.ranks.resize(2);
    if (config.contains("max-tokens")) header.tokens_per_sample = 64;
    MetricsWriter(file(run)).write_header(header);
  }
  // Writes steps of 0.5 s and 100 samples. A quarter of each step is waiting. The loss of step n is 100 / n. `before`:
  // samples that an earlier evaluation counted besides.
  void step(const std::string& run, int rank, std::int64_t first, std::int64_t last, std::int64_t before = 0) const {
    MetricsWriter writer(file(run));
    for (std::int64_t n = first; n <= last; ++n) {
      const auto number = static_cast<double>(n);
      writer.write_steps(
          rank, {{n, before + 100 * n, number / 10, 100 / number, 0.125, number / 2, 0.375, 0.25, 0.125, 0, 8}});
    }
  }
  std::filesystem::path file(const std::string& run) const { return place / run / "metrics.jsonl"; }
  const TemporaryDirectory directory;
  const std::filesystem::path& place = directory.path();
};

inline EvaluationRecord evaluation(double epoch, double accuracy) {
  EvaluationRecord record;
  record.step = std::llround(10 * epoch);
  record.samples = 100 * record.step;
  record.seconds = 5 * epoch;
  record.epoch = epoch;
  record.center = {0.5, accuracy};
  record.workers = WorkerScores{{0.5, accuracy + 0.01}, {}, {0.5, accuracy + 0.02}};
  record.validation = {0.25, accuracy - 0.01};
  record.distance_max = 1;
  return record;
}

}  // namespace eave
