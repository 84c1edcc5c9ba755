// Writes the tables of a report for the terminal and as CSV.
#pragma once

#include <string>
#include <vector>

#include "base/printable.h"
#include "report/compare/comparison.h"

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

struct TextTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;  // each as long as titles
  std::size_t texts = 1;                       // number of columns on the left that hold text; the others hold numbers
};

// Aligns columns under their titles, text to the left and numbers to the right. "" if there are no rows.
std::string to_text(const TextTable& table);

// Writes RFC 4180 with the titles as first line. Text that a spreadsheet would take for a formula gets an apostrophe in
// front.
std::string to_csv(const TextTable& table);

}  // namespace eave
