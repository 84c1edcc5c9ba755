#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "app/command_line.h"
#include "app/commands.h"
#include "app/launch.h"
#include "base/files.h"
#include "base/option_checks.h"
#include "eave/check.h"
#include "report/comparison.h"
#include "report/page.h"
#include "report/report_tables.h"
#include "report/terminal.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

CommandLine report_command_line() {
  CommandLine line(
      "usage: eave report DIR... [options]\n\nPuts runs together: prints tables and says what won, and writes one page "
      "that opens offline.\nDIR is a run directory (--run-dir of eave train), or a directory of run directories.");
  line.add_group(
      "Output",
      {{"html", OptionType::kText, "",
        "the page; none: no page; else report.html in the first DIR if that holds runs, or in the current directory"},
       {"csv", OptionType::kText, "", "file for the table of variants: runs that differ in nothing but the seed"},
       {"runs-csv", OptionType::kText, "", "file for the table of runs"},
       {"metrics-csv", OptionType::kText, "", "file for what the runs recorded: evaluations and training loss"},
       {"target", OptionType::kReal, "",
        "test accuracy, such as 0.9, until which time, samples and bytes are counted; else the highest that all "
        "reached"}});
  return line;
}

struct Request {
  std::vector<fs::path> directories;
  OptionValues values;
};

// Each option of this command has a value.
Request read_request(const CommandLine& line, const std::vector<std::string>& words) {
  Request request;
  std::vector<std::string> options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      request.directories.emplace_back(words[i]);
      continue;
    }
    options.push_back(words[i]);
    if (words[i].find('=') == std::string::npos && i + 1 < words.size()) options.push_back(words[++i]);
  }
  request.values = line.parse(options, nullptr);
  if (request.directories.empty()) throw Error(ExitCode::kUsage, "no directory given; expected DIR..., see --help");
  if (request.values.has("target")) real_in(request.values, "target", 0, 1);
  return request;
}

fs::path page_path(const Request& request) {
  if (request.values.has("html")) return request.values.text("html");
  const fs::path& first = request.directories.front();
  return is_run_directory(first) ? fs::path("report.html") : first / "report.html";
}

std::string title_of(const Request& request) {
  std::string title;
  for (const fs::path& directory : request.directories) title += (title.empty() ? "" : ", ") + directory.string();
  return title;
}

std::string time_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::array<char, 32> text{};
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

void write(const fs::path& path, const std::string& content) {
  write_file_atomically(path, content);
  std::printf("wrote %s\n", path.c_str());
}

void report(const Request& request) {
  const OptionValues& values = request.values;
  std::optional<double> target;
  if (values.has("target")) target = values.real("target");
  const Comparison comparison = compare_runs(read_runs(request.directories), target);
  std::fputs(report_text(comparison).c_str(), stdout);
  if (comparison.runs.empty()) throw Error(ExitCode::kBadData, "there is no run to report; see what was left out");
  std::puts("");
  if (values.has("csv")) write(values.text("csv"), variants_csv(comparison));
  if (values.has("runs-csv")) write(values.text("runs-csv"), runs_csv(comparison));
  if (values.has("metrics-csv")) write(values.text("metrics-csv"), metrics_csv(comparison));
  const fs::path page = page_path(request);
  if (page != "none") write(page, report_page(comparison, {title_of(request), time_text(), "eave " EAVE_VERSION}));
}

}  // namespace

int report_command(const std::vector<std::string>& words, const char* const*) {
  const CommandLine line = report_command_line();
  if (asks_for_help(words)) return run_once("report --help", [&] { std::fputs(line.help().c_str(), stdout); });
  Request request;
  try {
    request = read_request(line, words);
  } catch (const Error&) {
    return refuse_to_run(std::current_exception());
  }
  return run_once("report", [&] { report(request); });
}

}  // namespace eave
