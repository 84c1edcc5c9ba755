// Shows and records a run on rank 0: progress, metrics, TensorBoard, waiting. Sums the run up when it has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/trainer.h"
#include "eave/transport.h"
#include "report/record/metrics_writer.h"
#include "report/record/stragglers.h"
#include "report/record/tensorboard.h"
#include "report/text/progress.h"

namespace eave {

class RunReporter {
 public:
  // `workers`, `steps` and `epochs` are those of the whole run.
  RunReporter(const OptionValues& values, const CommunicatorTraits& traits, int workers, std::int64_t steps,
              double epochs);

  void open(const OutputFolder& directory);  // from now on it also writes files there
  void header(const RunHeader& header);
  TrainingEvents events();  // the events refer to this object
  void warn(const std::string& text);
  void failure(const Error& error);
  void end(const RunSummary& summary);  // throws Error(kInputOutput) if the metrics cannot be ended
  const Stragglers& stragglers() const { return stragglers_; }

  // Not copyable, because its events refer to it.
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

// Collective. The result is the same on all ranks.
RunSummary summarise(const OptionValues& values, Transport& transport, int count_of_workers,
                     const TrainingResult& result);

// Lines for the terminal: loss and bits per byte of a language model, steps that were left out, rollbacks, staleness of
// exchanges, time of checkpoints. "" if there is nothing to report. `is_resumed`: the times of checkpoints and of ranks
// are those since the run was resumed.
std::string describe_totals(const RunSummary& summary, bool is_resumed);

// Sets RunSummary::tokens, flops_per_core and share_of_peak if the samples are text, the last two on a CPU only. Call
// it on rank 0 when the last step has just ended: it keeps the calling core busy for some milliseconds.
void add_language_measures(RunSummary& summary, const TrainingParts& parts, const OptionValues& values);

}  // namespace eave
