#include "data/files/data_places.h"

#include "base/files/content_kind.h"
#include "data/loading/staging.h"
#include "eave/check.h"

namespace eave {

namespace fs = std::filesystem;

std::vector<OptionSpec> data_file_options() {
  return {{"data-dir", OptionType::kPath, "", "directory with the dataset's files (otherwise: the usual places)"},
          {"stage-to", OptionType::kPath, "",
           "first copy the dataset's files into this directory, once on each host, and read them there; copies stay, "
           "and the "
           "next run compares their hashes"}};
}

std::string describe_no_directory(const fs::path& place) {
  const std::string what = describe_content(content_kind_of(place));
  return "no directory " + place.string() + (what.empty() ? "" : " (" + what + ")");
}

fs::path find_data(const DataPlaces& places, const OptionValues& values, const FilesIn& files_in) {
  const bool named = values.has("data-dir");
  const std::vector<fs::path> all = named ? std::vector<fs::path>{values.text("data-dir")} : places.usual;
  std::string looked_at;
  for (const fs::path& place : all) {
    for (const fs::path& directory : {place, place / places.folder}) {
      const std::vector<std::string> names = files_in(directory);
      if (!names.empty()) {
        return values.has("stage-to") ? stage_files(directory, names, values.text("stage-to")) : directory;
      }
      looked_at += (looked_at.empty() ? "" : ", ") + directory.string();
    }
  }
  std::error_code error;
  const bool is_there = !named || fs::is_directory(all.front(), error);
  throw Error(ExitCode::kInputMissing, (is_there ? "" : describe_no_directory(all.front()) + ": ") + "no files of " +
                                           places.what + " in " + looked_at + "; " + places.how_to_get);
}

}  // namespace eave
