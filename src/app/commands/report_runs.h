// Compares runs and writes the report, on the terminal and into files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "base/options/option_values.h"

namespace eave {

// The files to write. A file that is not set is not written.
struct ReportFiles {
  std::optional<OutputPath> page = {}, variants_csv = {}, runs_csv = {}, metrics_csv = {};
};

// The words that a person gives the page: --title and --notes of `eave report` and `eave compare`.
struct PageWords {
  std::string title = {};  // "": the page names its directories
  std::string notes = {};  // plain text
};

std::vector<OptionSpec> page_word_options();
// Refuses these options with the option `with`, such as "--html none". Throws Error(kUsage).
void refuse_page_words(const OptionValues& values, const std::string& with);

// Reads the file of --notes. Throws Error: kInputMissing, kBadData (longer than 64 KiB, or no text).
PageWords read_page_words(const OptionValues& values);

// Prints the tables and the verdict, and writes the files. Returns whether a run finished. `target` is as in
// compare_runs (report/compare/comparison.h). Throws Error: kCannotCreate; if no run can be
// read, the code of the causes, or kBadData if they differ.
bool report_runs(const std::vector<std::filesystem::path>& directories, const ReportFiles& files,
                 std::optional<double> target = std::nullopt, const PageWords& words = {});

}  // namespace eave
