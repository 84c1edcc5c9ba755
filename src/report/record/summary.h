// Reads and writes summary.json, and makes the table that compares runs.
//
//   {"format": 1, "communicator", "test_accuracy", "seconds", "samples_per_second", "bytes_per_rank", "waiting_share",
//   "model",
//    "data", "ranks", "workers", "steps", "epochs", "samples", "peak_memory_bytes",
//    "exchanges": of each worker with an asynchronous center, since the run began or was resumed, else 0,
//    "staleness": [k] counts exchanges with k exchanges of other workers since the same worker's last one. Entry 1000
//      counts 1000 or more. [] for other methods,
//    "checkpoints": number saved since the run began or was resumed,
//    "checkpoint_seconds": for which they kept rank 0 from training; not included in "seconds"
//    "times_of_ranks": [{"rank", "computing", "loading", "exchanging", "waiting", "waiting_for_ranks",
//      "times_waited_for", "seconds_waited_for"}, … of each worker]         fields as RankTimes
//    "overlap": only of a run with --trace that exchanged anything
//    "tokens", "tokens_per_second": if samples are text
//    "evaluation": {… as in metrics.jsonl}
//    "test_score" in place of "test_accuracy", and format 2, if the evaluation has another metric}             fields
//    as RunSummary
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "eave/recorder.h"

namespace eave {

void write_summary(const OutputPath& path, const RunSummary& summary);
// Writes an array with one object per run, in the given order.
void write_summaries(const OutputPath& path, const std::vector<RunSummary>& summaries);
// summary_of and read_summary throw Error, which names the file or `place`: kInputMissing (read_summary only), kBadData
// (not JSON, or a field is missing).
std::string summary_text(const RunSummary& summary);  // one line of JSON
RunSummary summary_of(const std::string& text, const std::string& place);
RunSummary read_summary(const std::filesystem::path& path);

double tokens_per_second(const RunSummary& summary);

// A table in ASCII with one row per run: test accuracy or other metric, seconds, samples/s (tokens/s of text), bytes
// that each rank sent, share of time waiting.
std::string summary_table(const std::vector<RunSummary>& summaries);

// Details that the table has no column for. A line for each run on text: "test loss 3.7773, 5.449 bits per byte; 41.2
// GFLOP/s per core, 61 % of its FMA peak". With --ema-decay it ends with, or is, "moving average of the consensus: test
// accuracy 84.20 %". It begins with the method if there are several runs.
std::string detail_lines(const std::vector<RunSummary>& summaries);

// "1.9 GB", "37.4 MB", "812 B"
std::string human_bytes(double bytes);

}  // namespace eave
