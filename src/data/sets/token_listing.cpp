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

// Whether the name has one of the words "val", "valid", "validation" and "test": val.bin, fineweb_val_000000.bin.
bool is_test_name(const std::string& name) {
  std::string word;
  for (const char letter : name + ".") {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      continue;
    }
    if (word == "val" || word == "valid" || word == "validation" || word == "test") return true;
    word.clear();
  }
  return false;
}

TokenNames list_folder(const fs::path& folder) {
  TokenNames found{.folder = folder};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) {
      found.others.push_back(name);
    } else if (entry.is_directory()) {
      found.others.push_back(name + "/");
    } else {
      const bool is_bin = lower_case(name).ends_with(".bin");
      (!is_bin ? found.others : is_test_name(name) ? found.test : found.train).push_back(name);
    }
  }
  for (auto* names : {&found.train, &found.test, &found.others}) std::ranges::sort(*names);
  return found;
}

// The name of the .bin file that this entry is another form of, packed or written by numpy.save; "" if it is none.
std::string bin_name_of(const std::string& name) {
  const std::string ending = lower_case(fs::path(name).extension().string()), stem = fs::path(name).stem().string();
  if (ending == ".npy") return stem + ".bin";
  const bool is_packed = std::ranges::find(kPackedEndings, ending) != std::end(kPackedEndings);
  return is_packed && lower_case(stem).ends_with(".bin") ? stem : "";
}

// Else a part of the tokens would be missed.
void require_no_other_form(const TokenNames& names) {
  for (const std::string& name : names.others) {
    const std::string bin = bin_name_of(name);
    if (bin.empty() || std::ranges::binary_search(names.train, bin) || std::ranges::binary_search(names.test, bin))
      continue;
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
