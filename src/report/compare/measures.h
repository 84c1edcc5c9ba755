// Computes the measures by which a report compares variants.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare/variants.h"

namespace eave {

// The validation accuracy at the end of the run, or nothing if none was recorded.
std::optional<double> last_validation(const RunRecord& run);

// The cost at which a run reached an accuracy.
struct Reached {
  double seconds = 0, samples = 0;
  double bytes = 0;  // sent by the rank that sent most
};

// The cost at the first evaluation whose test accuracy is at least `accuracy`. If an evaluation came before it, the
// cost is interpolated linearly between the two. Nothing if the run never reached the accuracy.
std::optional<Reached> reach(const RunRecord& run, double accuracy);

// The highest accuracy, in whole percent, that every finished run of every chosen variant reached in some evaluation.
// Nothing if that is 0 or there are no runs.
std::optional<double> common_accuracy(const std::vector<Variant>& variants, const std::vector<RunRecord>& runs);

// Each function fills the fields of Variant that its name says. The baseline of a speed-up is the fastest chosen
// one-rank variant, of any method, with the same batch per rank on the same machine (share_machine).
void measure_ends(std::vector<Variant>& variants, const std::vector<RunRecord>& runs);
void measure_speedups(std::vector<Variant>& variants, const std::vector<RunRecord>& runs);
void measure_to_target(std::vector<Variant>& variants, const std::vector<RunRecord>& runs, double accuracy);

}  // namespace eave
