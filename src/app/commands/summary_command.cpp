// Implements `eave summary`: prints one table with a row per run.
#include <cstdio>
#include <filesystem>

#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/options/shared_options.h"
#include "app/resume/missing_model.h"
#include "base/printable.h"
#include "eave/check.h"
#include "report/compare/comparison.h"
#include "report/read/run_reader.h"
#include "report/record/run_directory.h"
#include "report/record/summary.h"

namespace eave {

CommandLine summary_command_line() {
  CommandLine line("usage: eave summary RUN_DIR... [--json FILE]\n\nPrints one table with a row per run.");
  line.add_group("Output", {{"json", OptionType::kPath, "", "file for the rows as a JSON array"}});
  return line;
}

namespace {

using SummaryRequest = PathsAndValues;

SummaryRequest read_summary_request(const CommandLine& line, const std::vector<std::string>& words) {
  SummaryRequest request =
      read_paths(line, words, "RUN_DIR", "no run directory given; expected RUN_DIR... [--json FILE]");
  check_output_options(request.values, {"json"});
  return request;
}

// Reads the summaries that can be read, and names the others on standard error.
std::vector<RunSummary> read_summaries(const std::vector<std::filesystem::path>& directories) {
  std::vector<RunSummary> rows;
  for (const std::filesystem::path& directory : directories) {
    try {
      std::error_code error;
      const bool is_there = std::filesystem::exists(std::filesystem::symlink_status(directory, error));
      const std::string why = is_there ? why_no_single_run(directory) : "";
      if (!why.empty()) throw Error(ExitCode::kInputMissing, directory.string() + ": " + why);
      require_end_of_run(directory, "summary.json");
      rows.push_back(read_summary_of_run(directory));
      if (state_of_run(directory) != RunState::kFinished)
        print_warning(directory.string() + ": model.safetensors is missing, so the run's results are not complete");
      if (holds_run(directory) && !has_end(directory))
        print_warning(directory.string() + ": summary.json says that the run ended, but metrics.jsonl has no end line");
    } catch (const Error& unusable) {
      if (directories.size() == 1) throw;
      print_warning(std::string("left out: ") + unusable.what());
    }
  }
  if (rows.empty()) throw Error(ExitCode::kBadData, "there is no run to sum up; see what was left out");
  return rows;
}

// Runs whose metrics cannot be read are left out: their summaries are shown all the same.
std::string cost_of_evaluations(const std::vector<std::filesystem::path>& directories) {
  std::vector<RunRecord> runs;
  for (const std::filesystem::path& directory : directories) {
    try {
      if (holds_run(directory)) runs.push_back(read_run(directory));
    } catch (const Error&) {
      continue;
    }
  }
  return evaluation_cost(runs);
}

}  // namespace

int summary_command(const std::vector<std::string>& words, const char* const*) {
  const auto summarise = [](const SummaryRequest& request) {
    const std::vector<RunSummary> rows = read_summaries(request.paths);
    std::FILE* const stream = text_stream(request.values, "json");
    std::fputs(summary_table(rows).c_str(), stream);
    std::fputs(detail_lines(rows).c_str(), stream);
    const std::string cost = cost_of_evaluations(request.paths);
    if (!cost.empty()) std::fprintf(stream, "\n%s\n", printable(cost).c_str());
    if (request.values.has("json")) write_summaries(OutputPath::of_person(request.values.text("json")), rows);
  };
  return run_request(summary_command_line(), words, read_summary_request, summarise);
}

}  // namespace eave
