// The tables of a report: on the terminal and as CSV.
#pragma once

#include <string>

#include "report/comparison.h"

namespace eave {

// Everything that the page says, as text: verdict, variants, notebook tables, settings that differ, notes, what was
// left out.
std::string report_text(const Comparison& comparison);

// A row per variant: every estimate with its mean and 95 % interval (empty: none), and every setting that differs.
std::string variants_csv(const Comparison& comparison);

// A row per run.
std::string runs_csv(const Comparison& comparison);

// A row per evaluation of each run, and a row per point of its curve of training losses (at most 200 of a run).
std::string metrics_csv(const Comparison& comparison);

}  // namespace eave
