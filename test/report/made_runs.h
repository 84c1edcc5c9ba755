// Run directories with known numbers, written by the writer of real ones.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/run_list.h"
#include "test/temporary_directory.h"

namespace eave {

// A directory of runs under the system's temporary one, removed at the end.
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
  int ranks = 1;
  int seed = 1;
  std::vector<double> accuracies{};  // test accuracy at equal distances until the end
  std::vector<double> validation{};  // likewise; empty: none recorded
  double seconds = 8;                // in all
  std::int64_t samples = 1000;       // in the training set
  int epochs = 1;
  std::int64_t bytes = 0;                         // of each rank, in all
  std::map<std::string, std::string> settings{};  // over batch 10, lr 0.1
  bool finishes = true;
  std::int64_t first_step = 0;  // steps before it have no lines
};

// Each evaluation follows a step of each rank: half of its seconds computing, a quarter waiting.
void make_run(const MadeRuns& place, const std::string& name, const MadeRun& run);

// `count` seeds of it, whose accuracies are `step` apart, those of the first as given.
void make_seeds(const MadeRuns& place, const std::string& name, MadeRun run, int count, double step);

RunList read_made(const MadeRuns& place);

}  // namespace eave
