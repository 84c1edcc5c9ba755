#include "app/commands/report_runs.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>

#include "base/files/output_file.h"
#include "base/files/user_path.h"
#include "base/printable.h"
#include "eave/check.h"
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/text/report_tables.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

std::string title_of(const std::vector<fs::path>& directories) {
  std::string title;
  for (const fs::path& directory : directories) title += (title.empty() ? "" : ", ") + directory.string();
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

void write(const std::optional<OutputPath>& path, const std::string& content) {
  if (!path) return;
  write_file_atomically(*path, content);
  if (path->is_of_person() && is_standard_output(path->path())) return;  // standard output holds the page itself
  std::printf("wrote %s\n", printable(path->string()).c_str());
}

}  // namespace

void report_runs(const std::vector<fs::path>& directories, const ReportFiles& files, std::optional<double> target) {
  RunList list = read_runs(directories);
  const bool none_was_there = list.none_was_there;
  const Comparison comparison = compare_runs(std::move(list), target);
  std::fputs(report_text(comparison).c_str(), stdout);
  if (comparison.runs.empty()) {
    throw Error(none_was_there ? ExitCode::kInputMissing : ExitCode::kBadData,
                "no run is left to report; the lines above say why each was left out");
  }
  std::puts("");
  write(files.variants_csv, variants_csv(comparison));
  write(files.runs_csv, runs_csv(comparison));
  write(files.metrics_csv, metrics_csv(comparison));
  write(files.page, report_page(comparison, {title_of(directories), time_text(), "eave " EAVE_VERSION}));
}

}  // namespace eave
