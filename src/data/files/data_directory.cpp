#include "data/files/data_directory.h"

#include "base/files/content_kind.h"
#include "base/options/spelling.h"
#include "data/loading/staging.h"
#include "eave/check.h"

namespace eave {

namespace fs = std::filesystem;

std::vector<OptionSpec> data_file_options() {
  return {{"data-dir", OptionType::kPath, "",
           "directory with the files of this dataset (default: data/NAME here, then /usr/share/datasets/NAME)"},
          {"stage-to", OptionType::kPath, "",
           "copy the dataset's files into this directory first, once per host, and read the copies; they stay, and the "
           "next run compares their hashes"}};
}

std::string describe_no_directory(const fs::path& path) {
  const std::string what = describe_content(content_kind_of(path));
  return "no directory " + path.string() + (what.empty() ? "" : " (" + what + ")");
}

fs::path find_data_directory(const DataDirectories& directories, const OptionValues& values, const FilesIn& files_in) {
  const bool named = values.has("data-dir");
  const std::vector<fs::path> all = named ? std::vector<fs::path>{values.text("data-dir")} : directories.defaults;
  std::vector<std::string> looked_at;
  for (const fs::path& path : all) {
    for (const fs::path& directory : {path, path / directories.subfolder}) {
      const std::vector<std::string> names = files_in(directory);
      if (!names.empty()) {
        return values.has("stage-to") ? stage_files(directory, names, values.text("stage-to")) : directory;
      }
      looked_at.push_back(directory.string());
    }
  }
  std::error_code error;
  const bool is_there = !named || fs::is_directory(all.front(), error);
  throw Error(ExitCode::kInputMissing, (is_there ? "" : describe_no_directory(all.front()) + ": ") + "no files of " +
                                           directories.what + " in " + comma_list(looked_at) + "; " +
                                           directories.how_to_get);
}

std::string describe_entries(const PassedOver& passed, const std::string& kind) {
  if (passed.count == 0) return "";
  const std::int64_t more = passed.count - static_cast<std::int64_t>(passed.first.size());
  return std::to_string(passed.count) + (passed.count == 1 ? " entry that is no " : " entries that are no ") + kind +
         " (" + comma_list(passed.first) + (more > 0 ? " and " + std::to_string(more) + " more)" : ")");
}

}  // namespace eave
