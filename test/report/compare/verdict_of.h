// The sentences of the verdict on made runs.
#pragma once

#include <optional>

#include "report/compare/comparison.h"
#include "test/report/made_runs.h"

namespace eave {

inline Texts verdict(const MadeRuns& place, std::optional<double> target = {}) {
  return compare_runs(read_made(place), target).verdict;
}

}  // namespace eave
