// What rank 0 shows and writes while a run goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/trainer.h"
#include "report/metrics.h"
#include "report/progress.h"
#include "report/stragglers.h"
#include "report/tensorboard.h"

namespace eave {

class RunReporter {
 public:
  // Of a run of so many workers, steps and epochs.
  RunReporter(const OptionValues& values, const CommunicatorTraits& traits, int workers, std::int64_t steps,
              double epochs);

  void open(const std::filesystem::path& directory);  // from here on it writes there, too
  void header(const RunHeader& header);
  TrainingEvents events();  // which refer to this
  void failure(const Error& error);
  void end(const RunSummary& summary);
  const Stragglers& stragglers() const { return stragglers_; }

 private:
  Progress progress_;
  bool has_center_;
  Stragglers stragglers_;
  std::vector<std::string> hosts_;  // of every rank
  std::optional<MetricsWriter> metrics_;
  const bool writes_tensorboard_;
  std::optional<TensorBoard> tensorboard_;
};

}  // namespace eave
