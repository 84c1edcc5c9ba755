// How the metric of a run is compared and written.
#pragma once

#include <string>

#include "eave/recorder.h"

namespace eave {

// Readers refuse scores and losses beyond it. It is above any float32, while sums and squares of such numbers stay
// finite.
constexpr double kMostReal = 1e39;

// Whether files can hold it; null stands for other losses.
bool is_recordable(double value);

// Whether the metric is accuracy, a share from 0 to 1 that people read in percent.
bool is_accuracy(const Metric& metric);

// Whether `value` is at least as good as `other`.
bool is_as_good(const Metric& metric, double value, double other);
// A number that is larger for better values, to sort by.
double goodness(const Metric& metric, double value);

std::string score_text(const Metric& metric, double value);   // "86.12 %", "17.31"
std::string named_score(const Metric& metric, double value);  // "accuracy 86.12 %", "perplexity 17.31"

}  // namespace eave
