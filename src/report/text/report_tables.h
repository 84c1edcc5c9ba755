// Writes the tables of a report for the terminal and as CSV.
#pragma once

#include <string>

#include "base/printable.h"
#include "report/compare/comparison.h"
#include "report/text/text_table.h"

namespace eave {

// All contents of the page as text: verdict, variants, scaling tables, settings that differ, notes, and the runs that
// were left out.
std::string report_text(const Comparison& comparison);

// One row per variant: the mean and 95 % interval of every estimate, and every setting that differs. An estimate
// without an interval has empty fields for it.
std::string variants_csv(const Comparison& comparison);

// One row per run.
std::string runs_csv(const Comparison& comparison);

// One row per evaluation of each run, and one per point of its curve of training losses (at most 200 per run).
std::string metrics_csv(const Comparison& comparison);

}  // namespace eave
