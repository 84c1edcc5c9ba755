#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "app/options/shared_options.h"
#include "base/files/user_path.h"
#include "base/options/option_values.h"
#include "eave/check.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// The canonical path of the file that an option names. "" if there is none, or if it is a stream or a pipe, which
// outputs may share.
fs::path file_named(const OptionValues& values, const std::string& option) {
  const std::string text = values.text(option);
  if (text.empty() || text.starts_with("/dev/") || text.starts_with("/proc/") || (option == "html" && text == "none"))
    return {};
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(text), error);
  const bool is_other = fs::exists(path, error) && !fs::is_regular_file(path, error);
  return error || is_other ? fs::path() : path;
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

void check_output_options(const OptionValues& values, std::initializer_list<const char*> options) {
  std::map<fs::path, std::string> named;
  for (const std::string option : options) {
    if (values.text(option) == "-") refuse_option(values, option, "give a file name, or /dev/stdout");
    const fs::path file = file_named(values, option);
    if (file.empty()) continue;
    const std::string given = "--" + option + " " + values.text(option);
    if (is_file_of_run(file)) {
      throw Error(ExitCode::kUsage, given + " is the name of a file of the run in " + file.parent_path().string() +
                                        ", which would be lost; name another file");
    }
    const auto [twin, is_new] = named.try_emplace(file, given);
    if (is_new) continue;
    throw Error(ExitCode::kUsage, twin->second + " and " + given + " name one file; name two");
  }
}

std::FILE* text_stream(const OptionValues& values, const std::string& option) {
  return values.has(option) && is_standard_output(values.text(option)) ? stderr : stdout;
}

void refuse_output_among_data(const OptionValues& values) {
  const bool is_text = values.text("data") == "text";
  if ((values.text("data") != "image-folder" && !is_text) || !values.has("data-dir")) return;
  std::error_code error;
  const fs::path data = fs::weakly_canonical(fs::absolute(values.text("data-dir")), error);
  const bool has_train = !is_text && fs::is_directory(data / "train", error);
  const auto is_among = [&](const fs::path& place) {
    if (!has_train) return lies_in(place, data);
    return lies_in(place, data / "train") || lies_in(place, data / "test") || lies_in(place, data / "val");
  };
  for (const char* option : {"run-dir", "checkpoint-dir", "stage-to"}) {
    if (!values.has(option)) continue;
    const fs::path place = fs::weakly_canonical(fs::absolute(values.text(option)), error);
    if (place.empty() || data.empty() || !is_among(place)) continue;  // an empty one is refused elsewhere
    throw Error(ExitCode::kUsage, "--" + std::string(option) + " " + values.text(option) + " lies among the " +
                                      (is_text ? "files" : "class folders") + " of --data-dir " +
                                      values.text("data-dir") +
                                      (is_text ? ", and would be trained on" : ", and would be taken for one") +
                                      "; name a directory outside of them");
  }
}

}  // namespace eave
