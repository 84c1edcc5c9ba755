// trace.json: what every rank did and when, on one clock, in Chrome's trace format: for ui.perfetto.dev and
// chrome://tracing.
//
//   {"displayTimeUnit": "ms",
//    "metadata": {"program": "eave", "format": 1, "clock": …, "ranks": [{"rank", "host", "clock_offset_us",
//    "clock_error_us"}, …],
//      "left_out": {"events", "from_us", "to_us"}        where the run was too long to keep all of it; else null
//      "overlap": {"seconds_behind_computing", "seconds_in_training", "share"}},  share is null without communication
//    "traceEvents": [{"ph": "X", "pid": rank, "tid": track, "ts", "dur": microseconds, "name", "cat", "args"}, …]}
//
// A process for each rank, with the tracks computing (1), communication (2), waiting (3), loading (4), evaluation (5).
// "args" is {"step"} or, of communication, {"bytes"} that this rank sent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/output_path.h"
#include "base/trace_buffer.h"

namespace eave {

// What a rank kept, in its own order: by rank 0's clock, and none of it in the gap.
struct RankTrace {
  std::string host;
  std::int64_t clock_offset = 0, clock_error = 0;  // nanoseconds
  std::vector<TraceSpan> computing, communication;
};

// Where spans were left out, on all ranks; none where it is empty.
struct TraceGap {
  std::int64_t begin = 0, end = 0;
  std::int64_t spans = 0;
};

// How much of the time of communication passed while the same rank computed, in training: evaluations are left out,
// and so are gathers, by which ranks meet before them.
// Seconds of all ranks together. An operation lasts from when it is carried out until it is done, so the wait for the
// ranks that come late is a part of it.
struct Overlap {
  double behind_computing = 0, in_training = 0;
  std::optional<double> share() const;  // none without communication
};
Overlap overlap_of(const std::vector<RankTrace>& ranks);

// Operations of a rank are carried out one after another, so each begins where the one before has ended or later;
// where it is told otherwise (it was asked for then) it is cut.
void part_operations(std::vector<TraceSpan>& communication);

// Throws Error(kCannotCreate / kInputOutput).
void write_trace(const OutputPath& path, const std::vector<RankTrace>& ranks, const TraceGap& gap);

}  // namespace eave
