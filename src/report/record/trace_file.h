// Writes trace.json: what every rank did and when, on one clock. The format is Chrome's trace format, for
// ui.perfetto.dev and chrome://tracing.
//
//   {"displayTimeUnit": "ms",
//    "metadata": {"program": "eave", "format": 1, "clock": …, "ranks": [{"rank", "host", "clock_offset_us",
//    "clock_error_us"}, …],
//      "left_out": {"events", "from_us", "to_us"} if the run was too long to keep all events; else null
//      "overlap": {"seconds_behind_computing", "seconds_in_training", "share"}},  share is null without communication
//    "traceEvents": [{"ph": "X", "pid": rank, "tid": track, "ts", "dur": microseconds, "name", "cat", "args"}, …]}
//
// Each rank is a process with the tracks computing (1), communication (2), waiting (3), loading (4), evaluation (5).
// "args" is {"step"}, or {"bytes"} sent by this rank for communication.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "base/trace_buffer.h"

namespace eave {

// The spans that a rank kept, in its own order. Times are on rank 0's clock, and no span lies in the gap.
struct RankTrace {
  std::string host;
  std::int64_t clock_offset = 0, clock_error = 0;  // nanoseconds
  std::vector<TraceSpan> computing, communication;
};

// The time in which spans were left out on all ranks. If it is empty, no spans were left out.
struct TraceGap {
  std::int64_t begin = 0, end = 0;
  std::int64_t spans = 0;
};

// How much of the communication in training overlapped with computing or loading on the same rank. Evaluations do not
// count, nor do gathers, at which ranks synchronize before an evaluation.
// Seconds are summed over all ranks. An operation lasts from its start to its end, so it includes the wait for late
// ranks.
struct Overlap {
  double behind_computing = 0, in_training = 0;
  std::optional<double> share() const;  // nothing without communication
};
Overlap overlap_of(const std::vector<RankTrace>& ranks);

// Sorts the operations of a rank and cuts spans that overlap. A rank carries out one operation after another, but a
// span may begin when the operation was requested. Such a span is cut to begin at the end of the one before.
void part_operations(std::vector<TraceSpan>& communication);

// Throws Error: kCannotCreate, kInputOutput.
void write_trace(const OutputPath& path, const std::vector<RankTrace>& ranks, const TraceGap& gap);

}  // namespace eave
