#include "data/tokens/text_listing.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/files/content_kind.h"
#include "base/files/file_errors.h"
#include "base/options/number_text.h"
#include "data/files/byte_source.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytesLookedAt = 8000;
constexpr std::string_view kTextIn = "text in ";
constexpr const char* kHowToGive = "put text files into a folder and name it with --data-dir";

void pass_over_entry(const std::string& name, TextListing& listing) {
  ++listing.passed_over.count;
  listing.passed_over.first.push_back(name);
}

// As git decides: text has no zero byte near its beginning. Text in UTF-16 has. Small packed files have none either.
bool is_text(const FileSource& file) {
  std::array<std::uint8_t, kBytesLookedAt> room;
  const std::span<const std::uint8_t> begin = std::span(room).first(file.read_at(0, room));
  if (std::ranges::find(begin, 0) != begin.end()) return false;
  const ContentKind kind = content_kind(begin);
  if (kind.group == ContentGroup::kPointer)
    throw Error(ExitCode::kBadData, file.name() + " is " + kind.what + ": " + kind.remedy + ", or remove it");
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), std::min(begin.size(), kContentBytes));
  return !kind.is_sure || is_utf8_text(text);
}

// Windows often writes text in UTF-16, whose owner would not know why it is passed over.
void note_encoding(const FileSource& file, const std::string& name, TextListing& listing) {
  if (!listing.other_encoding.empty()) return;
  const ContentKind kind = content_kind_of(file);
  if (!kind.what.starts_with(kTextIn)) return;
  listing.other_encoding =
      name + " is " + kind.what + ": convert it with iconv -f " + kind.what.substr(kTextIn.size()) + " -t UTF-8";
}

void add_file(const fs::path& path, const std::string& name, TextListing& listing) {
  const FileSource file(path);
  if (file.size() == 0) {
    ++listing.empty;
  } else if (is_text(file)) {
    listing.names.push_back(name);
  } else {
    pass_over_entry(name, listing);
    note_encoding(file, name, listing);
  }
}

fs::file_status status_of(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::file_status status = entry.status(error);
  if (!error && status.type() != fs::file_type::not_found) return status;
  throw Error(ExitCode::kInputMissing, entry.path().string() +
                                           (entry.is_symlink() ? " is a link that cannot be followed"
                                                               : " cannot be examined: " + error.message()) +
                                           "; repair it, or remove it");
}

// Goes into folders, but not through links to folders, which may lead back.
void add_folder(const std::string& part, TextListing& listing) {
  for (const fs::directory_entry& entry : fs::directory_iterator(listing.folder / part)) {
    const std::string name = part + entry.path().filename().string();
    if (entry.path().filename().string().starts_with('.')) {
      pass_over_entry(name, listing);
      continue;
    }
    const fs::file_status status = status_of(entry);
    if (fs::is_directory(status)) {
      entry.is_symlink() ? pass_over_entry(name + "/", listing) : add_folder(name + "/", listing);
    } else if (fs::is_regular_file(status)) {
      add_file(entry.path(), name, listing);
    } else {
      pass_over_entry(name, listing);
    }
  }
}

[[noreturn]] void refuse_nothing(const fs::path& place, const TextListing& listing) {
  const std::string rest = describe_passed_over(listing);
  const ContentKind kind = fs::is_directory(place) || listing.empty > 0 ? ContentKind() : content_kind_of(place);
  throw Error(ExitCode::kInputMissing, "no files of text in " + place.string() +
                                           (kind.what.empty() ? "" : " (" + describe_content(kind) + ")") +
                                           (rest.empty() ? "" : rest) + "; " + kHowToGive);
}

TextListing list_place(const fs::path& place) {
  TextListing listing;
  if (fs::is_directory(place)) {
    listing.folder = place;
    add_folder("", listing);
  } else if (fs::exists(place)) {
    listing.folder = place.parent_path().empty() ? fs::path(".") : place.parent_path();
    add_file(place, place.filename().string(), listing);
  } else {
    throw Error(ExitCode::kInputMissing, "no file or folder " + place.string() + " for --data text; " + kHowToGive);
  }
  std::ranges::sort(listing.names);
  auto& first = listing.passed_over.first;
  std::ranges::sort(first);
  if (first.size() > PassedOver::kMostNamed) first.resize(PassedOver::kMostNamed);
  if (listing.names.empty()) refuse_nothing(place, listing);
  return listing;
}

}  // namespace

TextListing list_text(const fs::path& place) {
  try {
    return list_place(place);
  } catch (const fs::filesystem_error& error) {
    throw Error(ExitCode::kInputMissing, "--data-dir cannot be looked through: " + describe_filesystem_error(error));
  }
}

std::string describe_passed_over(const TextListing& listing) {
  std::string text = describe_entries(listing.passed_over, "text");
  if (listing.empty > 0) text += (text.empty() ? "" : ", ") + count_text(listing.empty, "empty file");
  if (!listing.other_encoding.empty()) text += "; " + listing.other_encoding;
  return text.empty() ? "" : "; passed over: " + text;
}

}  // namespace eave
