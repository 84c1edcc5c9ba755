#include "report/read/run_list.h"

#include <algorithm>
#include <set>

#include "eave/check.h"
#include "report/read/run_files.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

struct NamedDirectory {
  fs::path path;
  std::string name;
};

std::vector<NamedDirectory> runs_in(const fs::path& directory, bool is_only_one) {
  std::vector<NamedDirectory> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (name.starts_with(".") || !entry->is_directory(unreadable)) continue;
    found.push_back({entry->path(), is_only_one ? name : (directory / name).string()});
  }
  std::ranges::sort(found, {}, &NamedDirectory::name);
  return found;
}

std::vector<NamedDirectory> candidates(const std::vector<fs::path>& directories, std::vector<LeftOut>& left_out) {
  std::vector<NamedDirectory> found;
  for (const fs::path& directory : directories) {
    if (const std::string why = why_no_directory_of_run(directory); !why.empty()) {
      left_out.push_back(
          {directory.string(), why + "; expected a run's (--run-dir of eave train), or one that holds such"});
      continue;
    }
    if (is_run_directory(directory)) {
      found.push_back({directory, directory.string()});
      continue;
    }
    const std::vector<NamedDirectory> inside = runs_in(directory, directories.size() == 1);
    if (inside.empty()) found.push_back({directory, directory.string()});
    found.insert(found.end(), inside.begin(), inside.end());
  }
  return found;
}

}  // namespace

bool is_run_directory(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / "metrics.jsonl", error);
}

RunList read_runs(const std::vector<fs::path>& directories) {
  RunList list;
  std::set<fs::path> seen;
  for (const NamedDirectory& candidate : candidates(directories, list.left_out)) {
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(candidate.path, error)).second) continue;
    try {
      RunRecord run = read_run(candidate.path);
      run.name = candidate.name;
      list.runs.push_back(std::move(run));
    } catch (const Error& unusable) {
      list.left_out.push_back({candidate.name, unusable.what()});
    }
  }
  list.none_was_there = list.runs.empty() && list.left_out.size() == directories.size() &&
                        std::ranges::none_of(directories, [](const fs::path& directory) {
                          std::error_code error;
                          return fs::is_directory(directory, error);
                        });
  return list;
}

}  // namespace eave
