// --trace: from what each rank keeps to one file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/output_path.h"
#include "base/trace_buffer.h"
#include "eave/transport.h"
#include "report/trace_file.h"
#include "transport/clock_offsets.h"

namespace eave {

// One rank's part. The buffers of all ranks together hold 400,000 spans, each takes 32 bytes of memory and some 110 of
// the file.
class RunTrace {
 public:
  explicit RunTrace(int ranks);

  TraceBuffer* computing() { return &computing_; }
  TraceBuffer* communication() { return &communication_; }

  // Collective, before training and after it: the clocks of all ranks are compared twice, so that clocks that go at
  // different speeds are known too. `hosts`: of every rank. `end` returns the overlap, on rank 0.
  void begin(Transport& transport);
  std::optional<double> end(Transport& transport, const std::vector<std::string>& hosts);
  // After the end, on rank 0. Throws Error as write_trace.
  void write(const OutputPath& path) const;

 private:
  TraceBuffer computing_, communication_;
  std::int64_t began_ = 0;
  std::vector<ClockOffset> offsets_;
  std::vector<RankTrace> ranks_;  // all of them, on rank 0 at the end
  TraceGap gap_;
};

}  // namespace eave
