#include "report/read/run_files.h"

#include "base/formats/strict_json.h"
#include "report/compare/agreement.h"
#include "report/compare/line_agreement.h"
#include "report/read/line_reader.h"
#include "report/read/metrics_reader.h"
#include "report/record/config.h"
#include "report/record/fields.h"
#include "report/record/summary.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char *kMetricsFile = "metrics.jsonl", *kSummaryFile = "summary.json", *kConfigFile = "config.json";
constexpr std::size_t kLongestEnd = std::size_t{1} << 26;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

void require_same_summary(const fs::path& directory, const RunSummary& summary, const RunSummary& end) {
  const std::string other = difference(to_json(summary), to_json(end), "");
  if (other.empty()) return;
  throw Error(ExitCode::kBadData, (directory / kSummaryFile).string() + ": " + other +
                                      ", as in the end of metrics.jsonl; put back a copy of both files, or train anew "
                                      "in another directory");
}

}  // namespace

void require_config_of_run(const fs::path& directory, const std::map<std::string, std::string>& config, bool is_whole) {
  const fs::path file = directory / kConfigFile;
  if (config.empty() || !is_there(file)) return;
  const std::string other = differing_setting(read_config(file), config, is_whole);
  if (other.empty()) return;
  throw Error(ExitCode::kBadData, file.string() + ": " + other +
                                      ", as in the header of metrics.jsonl; put back a copy of both files, or train "
                                      "anew in another directory");
}

RunRecord read_run(const fs::path& directory) {
  RunRecord run = read_metrics(directory / kMetricsFile);
  const bool has_finished = run.end == RunEnd::kFinished;
  // An unfinished run may be between two headers: config.json is written first, summary.json last.
  require_config_of_run(directory, run.settings, has_finished);
  if (has_finished && is_there(directory / kSummaryFile))
    require_same_summary(directory, read_summary(directory / kSummaryFile), *run.summary);
  return run;
}

Error error_of_run(const fs::path& directory, const Error& error) {
  const std::string why = error.what();
  const bool names_it = why.find((directory / "").string()) != std::string::npos;
  return {error.code(), names_it ? why : directory.string() + ": " + why};
}

bool has_end(const fs::path& directory) {
  const Json line = parse_json_or_discard(last_line(directory / kMetricsFile, kLongestEnd));
  return line.is_object() && line.contains("type") && line.at("type") == "end";
}

RunSummary read_summary_of_run(const fs::path& directory) {
  const RunSummary summary = read_summary(directory / kSummaryFile);
  if (has_end(directory)) {
    const std::string line = last_line(directory / kMetricsFile, kLongestEnd);
    require_same_summary(directory, summary,
                         summary_of(line, "the last line of " + (directory / kMetricsFile).string()));
  }
  return summary;
}

}  // namespace eave
