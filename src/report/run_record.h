// One run as a report needs it: what metrics.jsonl says, with the steps thinned to a curve.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eave/recorder.h"

namespace eave {

enum class RunEnd { kFinished, kInterrupted, kDiverged, kFailed };

const char* word_of(RunEnd end);

// Some successive steps of rank 0: where they end, and the mean of their losses.
struct StepPoint {
  double seconds = 0, step = 0, epoch = 0;
  double bytes = 0;  // sent by rank 0 since the start
  double loss = 0;   // NaN: none of these steps had samples
};

struct EvaluationPoint {
  EvaluationRecord record;
  double bytes = 0;  // sent by then, by the rank that had sent most
};

// Of the seconds of training ranks, 0-1. Exchanging runs behind computing, so the four may have a sum over 1.
struct TimeShares {
  double computing = 0, exchanging = 0, waiting = 0, loading = 0;
};

struct RunRecord {
  std::string name;
  std::map<std::string, std::string> settings;  // every option in force
  std::int64_t train_samples = 0, test_samples = 0;
  int ranks = 0, workers = 0;  // all, and those of them that train
  std::string device;          // of rank 0
  RunEnd end = RunEnd::kInterrupted;
  std::string why;  // it did not finish
  std::vector<StepPoint> steps;
  std::vector<EvaluationPoint> evaluations;
  TimeShares shares;
  std::optional<RunSummary> summary;  // where it finished
};

}  // namespace eave
