// Implements `eave report`: compares finished runs in tables and on one page.
#include <filesystem>
#include <optional>

#include "app/commands/report_runs.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/options/shared_options.h"
#include "base/options/option_values.h"
#include "report/record/run_directory.h"

namespace eave {

namespace fs = std::filesystem;

CommandLine report_command_line() {
  CommandLine line(
      "usage: eave report DIR... [options]\n\nCompares runs: prints tables, names the winner, and writes one HTML page "
      "that opens offline.\nDIR is a run directory (--run-dir of eave train), or a directory of run directories.");
  line.add_group(
      "Output",
      {{"html", OptionType::kPath, "",
        "file for the HTML page, or none (default: report.html in the first DIR if that holds runs, else in "
        "the current directory)"},
       {"csv", OptionType::kPath, "",
        "CSV file for the table of variants: groups of runs that differ only in the seed"},
       {"runs-csv", OptionType::kPath, "", "CSV file for the table of runs"},
       {"metrics-csv", OptionType::kPath, "", "CSV file for the evaluations and training losses of all runs"},
       {"target", OptionType::kReal, "",
        "test accuracy, such as 0.9, or value of the runs' metric, to which time, samples and bytes are counted "
        "(default: the best that all runs reached, accuracy in whole percent)"}});
  line.add_group("Page", page_word_options());
  return line;
}

namespace {

using ReportRequest = PathsAndValues;

bool writes_no_page(const OptionValues& values) { return values.has("html") && values.text("html") == "none"; }

ReportRequest read_report_request(const CommandLine& line, const std::vector<std::string>& words) {
  ReportRequest request = read_paths(line, words, "DIR", "no directory given; expected DIR..., see --help");
  check_output_options(request.values, {"html", "csv", "runs-csv", "metrics-csv"});
  if (writes_no_page(request.values)) refuse_page_words(request.values, "--html none");
  if (request.values.has("target")) real_in(request.values, "target", -1e39, 1e39);
  return request;
}

std::optional<OutputPath> named_file(const ReportRequest& request, const char* option) {
  if (!request.values.has(option)) return std::nullopt;
  return OutputPath::of_person(request.values.text(option));
}

std::optional<OutputPath> page_path(const ReportRequest& request) {
  constexpr const char* kPageName = "report.html";
  if (writes_no_page(request.values)) return std::nullopt;
  if (request.values.has("html")) return named_file(request, "html");
  const fs::path& first = request.paths.front();
  return OutputFolder(holds_run(first) ? fs::path(".") : first) / kPageName;
}

ReportFiles files_of(const ReportRequest& request) {
  const auto file = [&](const char* option) { return named_file(request, option); };
  return {page_path(request), file("csv"), file("runs-csv"), file("metrics-csv")};
}

}  // namespace

int report_command(const std::vector<std::string>& words, const char* const*) {
  const auto report = [](const ReportRequest& request) {
    std::optional<double> target;
    if (request.values.has("target")) target = request.values.real("target");
    report_runs(request.paths, files_of(request), target, read_page_words(request.values));
  };
  return run_request(report_command_line(), words, read_report_request, report);
}

}  // namespace eave
