// Makes run directories with known numbers, with the same writer as real runs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/read/run_reader.h"
#include "test/temporary_directory.h"

namespace eave {

// A temporary directory of runs. The destructor removes it.
class MadeRuns {
 public:
  const std::filesystem::path& path() const { return directory_.path(); }
  void write(const std::string& file, const std::string& content) const;
  std::string read(const std::string& file) const;

 private:
  TemporaryDirectory directory_;
};

struct MadeRun {
  std::string communicator = "allreduce";
  Metric metric{};
  int ranks = 1;
  int seed = 1;
  std::vector<double>
      accuracies{};  // test accuracy, or value of the metric, of each evaluation; evaluations lie at equal distances
  std::vector<double> validation{};  // validation accuracy likewise; empty: none recorded
  double seconds = 8;                // duration of the whole run
  double evaluation_seconds = 0;     // further duration of each evaluation
  std::int64_t samples = 1000;       // size of the training set
  int epochs = 1;
  std::int64_t bytes = 0;                         // sent by each rank in the whole run
  std::map<std::string, std::string> settings{};  // options on top of batch 10, lr 0.1
  std::int64_t tokens_per_sample = 0;             // not 0: the samples are text
  std::vector<double> averages{};  // scores of the moving average of the consensus likewise; empty: it has none
  bool finishes = true;
  bool knows_loss = true;
  std::int64_t first_step = 0;  // this and earlier steps have no lines
  std::string data_identity{}, initial_identity{};
};

// Writes a run. Each evaluation follows one step record of each rank, with half of its seconds computing and a quarter
// waiting.
void make_run(const MadeRuns& place, const std::string& name, const MadeRun& run);

// Writes `count` runs of the same kind with different seeds. The first has the accuracies of `run`. Each further run's
// accuracies differ by `step` from those of the run before.
void make_seeds(const MadeRuns& place, const std::string& name, MadeRun run, int count, double step);

RunList read_made(const MadeRuns& place);

}  // namespace eave
