// Counts the step lines that a metrics.jsonl lacks, because the disk was full or somebody cut the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "report/read/metrics_consistency.h"

namespace eave {

class MissingSteps {
 public:
  // Call `take` with each line that is kept, in order. A header after which steps are counted in another way, as with
  // another number of ranks or another --log-every, begins the count anew. Returns whether it does.
  bool take(const HeaderLine& header);
  void take(const StepLine& line);
  // The number of missing lines, if each rank has done `steps` steps. None are counted without --log-every in the
  // header.
  std::int64_t count(std::int64_t steps) const;

 private:
  std::int64_t lines_between(std::int64_t last, std::int64_t next) const;

  std::optional<HeaderLine> header_;
  std::int64_t every_ = 0, missing_ = 0;
  // The step of each rank's last line. Nothing if steps are counted anew: the next line is not known then.
  std::vector<std::optional<std::int64_t>> last_;
};

}  // namespace eave
