// Reopens the directory of a run that is resumed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/files/output_path.h"
#include "eave/recorder.h"
#include "report/record/metric.h"

namespace eave {

// Says which lines of metrics.jsonl are kept when a run is resumed. Samples decide, not steps: a resume with another
// number of ranks counts steps differently.
struct KeptLines {
  std::int64_t samples = 0;         // of all ranks: lines after so many samples are cut
  bool is_evaluated_again = false;  // true: the evaluation after exactly these samples is cut too
  Metric metric = {};               // of the lines that will follow
  // Steps done by each rank, if ranks count steps as before; later step lines of a rank are cut too. May be empty.
  std::vector<std::int64_t> steps = {};
  // Steps done by all ranks, as the last lines count them. If it is not 0, step lines that are missing up to it are
  // counted, and one line of type "lost" with their number replaces the earlier ones.
  std::int64_t last_step = 0;
  // The number of ranks that saved the checkpoint; 0: not known. A header of another number of ranks is cut if no kept
  // line follows it, because that attempt saved nothing.
  int ranks = 0;
};

// The facts that a resume finds in the lines that it keeps.
struct KeptRecord {
  std::optional<EvaluationRecord> evaluation;  // the last one, if it was made after exactly KeptLines::samples
  int ranks = 0;                               // of the last header that is kept
  std::vector<double> seconds = {};            // of each rank's last line, as far as ranks have any
  std::int64_t missing = 0;                    // step lines, with KeptLines::last_step
};

// Prepares a run's directory for a resume, so that each step appears once in metrics.jsonl. It cuts the lines of later
// samples, the end, an incomplete last line, and headers as KeptLines::ranks says. Only rank 0 calls this.
// Throws Error: kInputMissing (no metrics.jsonl), kInputOutput, kBadData (there is no header, or a line before the last
// whole one is damaged or contradicts another, or has another metric). After kBadData nothing was changed.
KeptRecord reopen_run_directory(const OutputFolder& run, const KeptLines& kept);

}  // namespace eave
