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

  void open(const OutputFolder& directory);  // from here on it writes there, too
  void header(const RunHeader& header);
  TrainingEvents events();  // which refer to this
  void warn(const std::string& text);
  void failure(const Error& error);
  void end(const RunSummary& summary);  // throws Error(kInputOutput) where the metrics cannot be ended
  const Stragglers& stragglers() const { return stragglers_; }

  // They refer to this.
  RunReporter(const RunReporter&) = delete;
  RunReporter& operator=(const RunReporter&) = delete;

 private:
  void tell_losses();
  Progress progress_;
  bool has_center_;
  Stragglers stragglers_;
  std::vector<std::string> hosts_;  // of every rank
  std::optional<MetricsWriter> metrics_;
  const bool writes_tensorboard_;
  std::optional<TensorBoard> tensorboard_;
};

}  // namespace eave
