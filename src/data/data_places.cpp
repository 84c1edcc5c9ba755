#include "data/data_places.h"

#include "eave/check.h"

namespace eave {

namespace fs = std::filesystem;

OptionSpec data_dir_option() {
  return {"data-dir", OptionType::kText, "", "directory with the dataset's files (otherwise: the usual places)"};
}

fs::path find_data(const DataPlaces& places, const OptionValues& values,
                   const std::function<bool(const fs::path&)>& holds) {
  const bool named = values.has("data-dir");
  const std::vector<fs::path> all = named ? std::vector<fs::path>{values.text("data-dir")} : places.usual;
  std::string looked_at;
  for (const fs::path& place : all) {
    for (const fs::path& directory : {place, place / places.folder}) {
      if (holds(directory)) return directory;
      looked_at += (looked_at.empty() ? "" : ", ") + directory.string();
    }
  }
  std::error_code error;
  const bool is_there = !named || fs::is_directory(all.front(), error);
  throw Error(ExitCode::kInputMissing, (is_there ? "" : "no directory " + all.front().string() + ": ") +
                                           "no files of " + places.what + " in " + looked_at + "; " +
                                           places.how_to_get);
}

}  // namespace eave
