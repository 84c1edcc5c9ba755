#include "app/compare/compare_output.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>

#include "app/compare/compare_runs.h"
#include "app/main/launch.h"
#include "base/files/file_errors.h"
#include "base/files/output_path.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "eave/check.h"
#include "report/read/run_reader.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

struct Part {
  std::size_t number = 0, of = 0;
};

Part part_of(const OptionValues& own) {
  constexpr std::int64_t kMostParts = 1'000'000;
  const std::vector<std::string> numbers = parts_of(own.text("part"), '/', own, "part");
  if (numbers.size() != 2) refuse_option(own, "part", "expected a part and the number of parts, such as 2/10");
  const std::int64_t of = integer_item(numbers[1], own, "part", 1, kMostParts);
  return {static_cast<std::size_t>(integer_item(numbers[0], own, "part", 1, of)), static_cast<std::size_t>(of)};
}

constexpr const char* kSettingsFile = "comparison.json";  // the settings that all runs in a directory share
constexpr const char* kSettingsLock = "compare-settings.lock";

// Whether a file may come from another part that has just begun: a lock, or settings that it is writing.
bool is_of_a_beginning(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kSettingsFile) || (name.starts_with("compare") && name.find(".lock") != std::string::npos);
}

constexpr const char* kPage = "report.html";

// Refuses a directory with files of another program: the report would overwrite them.
void refuse_foreign(const std::filesystem::path& path) {
  std::error_code error;
  bool has_something = false;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (holds_run(entry.path())) return;
    has_something = has_something || !is_of_a_beginning(entry.path());
  }
  // Checked last: a part that begins at the same time writes its settings before its runs.
  if (!has_something || std::filesystem::exists(path / kSettingsFile, error)) return;
  throw Error(ExitCode::kCannotCreate,
              "--output " + path.string() + ": holds files and no run; choose another directory");
}

// A run that cannot be read is made anew.
bool is_kept_whole(const std::filesystem::path& directory, const KeepsRun& is_kept) {
  try {
    return is_kept(directory);
  } catch (const Error&) {
    return false;
  }
}

// Whether another part of the comparison is at work in the directory, or a run is there that is kept. If not, the
// settings there are those of a comparison that was refused or failed before its first run had finished.
bool has_begun(const std::filesystem::path& path, const std::string& own_lock, const KeepsRun& is_kept) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_lock = name.starts_with("compare") && name.ends_with(".lock");
    if (is_lock && name != kSettingsLock && name != own_lock) return true;
    if (is_kept_whole(entry.path(), is_kept)) return true;
  }
  return false;
}

void write_or_compare_settings(const std::filesystem::path& path, const Settings& common, const std::string& own_lock,
                               const KeepsRun& is_kept) {
  constexpr std::chrono::seconds kMostPatience{60};
  const std::filesystem::path file = path / kSettingsFile;
  const std::map<std::string, std::string> mine(common.begin(), common.end());
  const DirectoryLock turn(path, kSettingsLock, "--output " + path.string(), kMostPatience);
  std::error_code error;
  if (std::filesystem::exists(file, error) && has_begun(path, own_lock, is_kept)) {
    return require_same_comparison(read_config(file), mine, path.string());
  }
  write_config(OutputFolder(path) / kSettingsFile, mine);
}

// Parts of a comparison share a directory. Each part has its own lock there, and so has each run.
std::string lock_name(const OptionValues& own) {
  if (!own.has("part")) return "compare.lock";
  const auto [number, of] = part_of(own);
  return "compare-" + std::to_string(number) + "-" + std::to_string(of) + ".lock";
}

}  // namespace

void refuse_page_words_of_part(const OptionValues& own) {
  if (own.has("part")) refuse_page_words(own, "--part");
}

void keep_part(Grid& grid, const OptionValues& own) {
  if (!own.has("part")) return;
  const auto [number, of] = part_of(own);
  if (number > grid.groups.size()) {
    refuse_option(own, "part", "has no run: there are " + count_text(grid.groups.size(), "group") + " of runs");
  }
  std::vector<RunGroup> kept;
  for (std::size_t i = number - 1; i < grid.groups.size(); i += of) kept.push_back(grid.groups[i]);
  grid.groups = kept;
}

std::unique_ptr<DirectoryLock> lock_output(const OptionValues& own) {
  const std::filesystem::path path = own.text("output");
  const std::string what = "--output " + path.string();
  refuse_foreign(path);
  make_named_directory(path, what);
  auto lock = std::make_unique<DirectoryLock>(path, lock_name(own), what, DirectoryLock::kPatience, print_warning);
  if (lock->former()) {
    print_warning(what + ": took over the lock of a comparison that ended without freeing it (" +
                  lock->former()->describe() + ")");
  }
  return lock;
}

void prepare_output(const OptionValues& own, const Settings& common, const KeepsRun& is_kept) {
  const std::filesystem::path path = own.text("output");
  write_or_compare_settings(path, common, lock_name(own), is_kept);
  if (!own.has("part")) remove_output(OutputFolder(path) / kPage);  // the page exists only when all runs are done
}

void tell_results(const OptionValues& own, const PageWords& words) {
  const std::filesystem::path output = own.text("output");
  if (own.has("part")) {
    std::printf("\nwhen all parts are done: eave report %s\n", printable(output.string()).c_str());
    return;
  }
  std::puts("");
  const OutputFolder folder(output);
  const ReportFiles files = {.page = folder / kPage, .variants_csv = folder / "variants.csv"};
  if (report_runs({output}, files, std::nullopt, words)) return;
  throw Error(ExitCode::kDiverged, "every run diverged, so no method can be compared; give a smaller --lr");
}

}  // namespace eave
