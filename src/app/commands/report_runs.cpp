#include "app/commands/report_runs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
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

// The directory as it was given; its own name if it was given as one of those that name no directory, such as ".".
std::string title_of(const fs::path& directory) {
  const fs::path given = directory.lexically_normal();
  const fs::path last = given.has_filename() ? given.filename() : given.parent_path().filename();
  if (last != "." && last != "..") return directory.string();
  std::error_code error;
  return fs::weakly_canonical(directory, error).filename().string();
}

std::string title_of(const std::vector<fs::path>& directories) {
  std::string title;
  for (const fs::path& directory : directories) title += (title.empty() ? "" : ", ") + title_of(directory);
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

// The exit code of the causes, if they agree.
ExitCode code_without_runs(const std::vector<LeftOut>& left_out) {
  const auto is_other = [&](const LeftOut& each) { return each.code != left_out.front().code; };
  return left_out.empty() || std::ranges::any_of(left_out, is_other) ? ExitCode::kBadData : left_out.front().code;
}

bool goes_to_standard_output(const std::optional<OutputPath>& path) {
  return path && path->is_of_person() && is_standard_output(path->path());
}

// Says so on the stream `text`.
void write(const std::optional<OutputPath>& path, const std::string& content, std::FILE* text) {
  if (!path) return;
  write_file_atomically(*path, content);
  if (!goes_to_standard_output(path)) std::fprintf(text, "wrote %s\n", printable(path->string()).c_str());
}

}  // namespace

std::vector<OptionSpec> page_word_options() {
  return {{"title", OptionType::kText, "", "title of the HTML page (default: the directories of its runs)"},
          {"notes", OptionType::kPath, "",
           "text file of at most 64 KiB whose lines the HTML page shows below its title, as they are"}};
}

void refuse_page_words(const OptionValues& values, const std::string& with) {
  for (const char* const name : {"title", "notes"})
    if (values.given(name) && !values.entry(name).source.starts_with("environment"))
      refuse_option(values, name, "has no effect with " + with + ", which writes no page");
}

PageWords read_page_words(const OptionValues& values) {
  constexpr std::size_t kLongestNotes = std::size_t{1} << 16;
  PageWords words;
  if (values.has("title")) words.title = values.text("title");
  if (!values.has("notes")) return words;
  const fs::path path = values.text("notes");
  words.notes = read_named_file(path, kLongestNotes);
  if (words.notes.find('\0') != std::string::npos) {
    throw Error(ExitCode::kBadData,
                "--notes " + path.string() + ": holds zero bytes, so it is no text; name a text file");
  }
  return words;
}

bool report_runs(const std::vector<fs::path>& directories, const ReportFiles& files, std::optional<double> target,
                 const PageWords& words) {
  RunList list = read_runs(directories);
  const ExitCode code = code_without_runs(list.left_out);
  const Comparison comparison = compare_runs(std::move(list), target);
  // Standard output may hold a file, which programs read.
  const bool is_taken = goes_to_standard_output(files.page) || goes_to_standard_output(files.variants_csv) ||
                        goes_to_standard_output(files.runs_csv) || goes_to_standard_output(files.metrics_csv);
  std::FILE* const text = is_taken ? stderr : stdout;
  std::fputs(report_text(comparison).c_str(), text);
  if (comparison.runs.empty()) {
    throw Error(code, "no run is left to report; the lines above say why each was left out");
  }
  std::fputs("\n", text);
  write(files.variants_csv, variants_csv(comparison), text);
  write(files.runs_csv, runs_csv(comparison), text);
  write(files.metrics_csv, metrics_csv(comparison), text);
  const std::string title = words.title.empty() ? title_of(directories) : words.title;
  write(files.page, report_page(comparison, {title, time_text(), "eave " EAVE_VERSION, words.notes}), text);
  return std::ranges::any_of(comparison.runs, [](const RunRecord& run) { return run.end == RunEnd::kFinished; });
}

}  // namespace eave
