#include "data/sets/token_listing.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/files/content_kind.h"
#include "base/files/file_errors.h"
#include "base/options/spelling.h"
#include "data/files/data_directory.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPackedEndings[] = {".gz", ".xz", ".zst", ".bz2", ".lz4", ".z", ".zip"};
constexpr const char* kWriteBin = "write its tokens as numpy's uint16 with tofile";

// Whether the name has one of these words between other characters than letters: val.bin, fineweb_val_000000.bin.
bool has_word(const std::string& name, std::initializer_list<std::string_view> words) {
  std::string word;
  for (const char letter : lower_case(name) + ".") {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      word += letter;
      continue;
    }
    if (std::ranges::find(words, word) != words.end()) return true;
    word.clear();
  }
  return false;
}

bool is_test_name(const std::string& name) { return has_word(name, {"val", "valid", "validation", "test"}); }

TokenNames list_folder(const fs::path& folder) {
  TokenNames found{.folder = folder};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) {
      found.others.push_back(name);
    } else if (std::error_code unknown; entry.is_directory(unknown)) {
      found.others.push_back(name + "/");
    } else {
      const bool is_bin = lower_case(name).ends_with(".bin");
      (!is_bin ? found.others : is_test_name(name) ? found.test : found.train).push_back(name);
    }
  }
  for (auto* names : {&found.train, &found.test, &found.others}) std::ranges::sort(*names);
  return found;
}

// The name of the .bin file that this entry is another form of, packed or written by numpy.save; "" if it is none. An
// array may be something else, such as the places of documents. So it counts only if it is named like a part.
std::string bin_name_of(const std::string& name) {
  const std::string ending = lower_case(fs::path(name).extension().string()), stem = fs::path(name).stem().string();
  if (name.starts_with('.')) return "";
  if (ending == ".npy") return is_test_name(stem) || has_word(stem, {"train"}) ? stem + ".bin" : "";
  const bool is_packed = std::ranges::find(kPackedEndings, ending) != std::end(kPackedEndings);
  return is_packed && lower_case(stem).ends_with(".bin") ? stem : "";
}

// Else a part of the tokens would be missed.
void require_no_other_form(const TokenNames& names) {
  const auto is_among = [](const std::vector<std::string>& files, const std::string& bin) {
    return std::ranges::find(files, lower_case(bin), lower_case) != files.end();
  };
  for (const std::string& name : names.others) {
    const std::string bin = bin_name_of(name);
    if (bin.empty() || is_among(names.train, bin) || is_among(names.test, bin)) continue;
    const std::string what = describe_content(content_kind_of(names.folder / name), kWriteBin);
    throw Error(ExitCode::kBadData, (names.folder / name).string() + " stands beside .bin files, and there is no " +
                                        bin + "; " + (what.empty() ? kWriteBin : what) + ", or move it elsewhere");
  }
}

TokenNames names_at(const fs::path& place) {
  if (fs::is_directory(place)) return list_folder(place);
  if (!fs::exists(place)) return {};
  return {.folder = place.parent_path().empty() ? fs::path(".") : place.parent_path(),
          .train = {place.filename().string()}};
}

void require_training_files(const fs::path& place, const TokenNames& names) {
  if (!names.train.empty()) return;
  const std::string what = names.test.empty()
                               ? "no files of tokens in " + place.string()
                               : place.string() + " holds " + names.test.front() + ", but no .bin file to train on";
  throw Error(ExitCode::kInputMissing, what + describe_others(names) + kHowToNameTokens);
}

}  // namespace

TokenNames list_tokens(const fs::path& place) {
  try {
    TokenNames names = names_at(place);
    require_training_files(place, names);
    require_no_other_form(names);
    return names;
  } catch (const fs::filesystem_error& error) {
    throw Error(ExitCode::kInputMissing, "--data-dir cannot be looked through: " + describe_filesystem_error(error));
  }
}

std::string describe_others(const TokenNames& names) {
  PassedOver passed{.count = std::ssize(names.others), .first = names.others};
  if (passed.first.size() > PassedOver::kMostNamed) passed.first.resize(PassedOver::kMostNamed);
  const std::string text = describe_entries(passed, passed.count == 1 ? ".bin file" : ".bin files");
  return text.empty() ? "" : "; passed over: " + text;
}

}  // namespace eave
