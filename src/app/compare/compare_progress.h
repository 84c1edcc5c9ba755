// The lines that a comparison prints while its runs go on.
#pragma once

#include <cstddef>
#include <string>

#include "app/compare/compare_grid.h"
#include "eave/recorder.h"

namespace eave {

// How a run ended.
struct CellOutcome {
  bool has_failed = false;  // true: it diverged
  std::string failure;
  RunSummary summary;  // valid if it has not failed
};

class CompareProgress {
 public:
  // `is_shown`: false on ranks that only count.
  CompareProgress(const Grid& grid, bool is_shown) : grid_(grid), is_shown_(is_shown) {}

  // The next runs: `kept` of `runs` have results already. `of_all`: the number of runs of the whole comparison.
  void begin(std::size_t of_all, std::size_t kept, std::size_t runs);
  void add_time(double seconds, std::size_t runs);  // that these runs took together
  void tell(const Cell& cell, const CellOutcome& outcome);

 private:
  const Grid& grid_;
  const bool is_shown_;
  std::size_t width_ = 0;  // of the longest label, in characters
  std::size_t told_ = 0, of_all_ = 0, timed_ = 0;
  double seconds_ = 0;
};

}  // namespace eave
