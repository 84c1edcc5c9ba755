// --trace: collects the spans of all ranks into one file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "base/trace_buffer.h"
#include "eave/transport.h"
#include "report/record/trace_file.h"
#include "transport/job/clock_offsets.h"

namespace eave {

// One rank's part of the trace. The buffers of all ranks together hold 400,000 spans, or 4,000 per rank if that is
// more. A span takes 32 bytes of memory and about 110 bytes of the file.
class RunTrace {
 public:
  explicit RunTrace(int ranks);

  TraceBuffer* computing() { return &computing_; }
  TraceBuffer* communication() { return &communication_; }

  // Both are collective: `begin` before training, `end` after it. Both compare the clocks of all ranks, which corrects
  // clocks that run at different speeds. `hosts` is the host of every rank. `end` returns the share of communication
  // that overlapped computing, on rank 0.
  void begin(Transport& transport);
  std::optional<double> end(Transport& transport, const std::vector<std::string>& hosts);
  // Call on rank 0, after `end`. Throws Error as write_trace does.
  void write(const OutputPath& path) const;

 private:
  TraceBuffer computing_, communication_;
  std::int64_t began_ = 0;
  std::vector<ClockOffset> offsets_;
  std::vector<RankTrace> ranks_;  // of all ranks; set on rank 0 by `end`
  TraceGap gap_;
};

}  // namespace eave
