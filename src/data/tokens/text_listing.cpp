#include "data/tokens/text_listing.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/files/content_kind.h"
#include "base/files/file_errors.h"
#include "base/options/number_text.h"
#include "base/options/spelling.h"
#include "data/files/byte_source.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHowToGive = "put text files into a folder and name it with --data-dir";

void pass_over_entry(const std::string& name, TextListing& listing) {
  NotText& passed = listing.passed_over;
  ++passed.count;
  passed.first.push_back(name);
}

// As git decides: text has no zero byte near its beginning. Text in UTF-16 has. Small packed files have none either.
bool is_text(const FileSource& file) {
  std::array<std::uint8_t, NotText::kBytesLookedAt> room;
  const std::span<const std::uint8_t> begin = std::span(room).first(file.read_at(0, room));
  if (std::ranges::find(begin, 0) != begin.end()) return false;
  const ContentKind kind = content_kind(begin);
  if (kind.group == ContentGroup::kPointer)
    throw Error(ExitCode::kBadData, file.name() + " is " + kind.what + ": " + kind.remedy + ", or remove it");
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), std::min(begin.size(), kContentBytes));
  return !kind.is_sure || is_utf8_text(text);
}

void add_file(const fs::path& path, const std::string& name, TextListing& listing) {
  const FileSource file(path);
  if (file.size() == 0) {
    ++listing.empty;
  } else if (is_text(file)) {
    listing.names.push_back(name);
  } else {
    pass_over_entry(name, listing);
  }
}

// Goes into folders, but not through links to folders, which may lead back.
void add_folder(const std::string& part, TextListing& listing) {
  for (const fs::directory_entry& entry : fs::directory_iterator(listing.folder / part)) {
    const std::string name = part + entry.path().filename().string();
    std::error_code error;
    const fs::file_status status = entry.status(error);
    if (error || status.type() == fs::file_type::not_found) {
      throw Error(ExitCode::kInputMissing, entry.path().string() +
                                               (entry.is_symlink() ? " is a link that cannot be followed"
                                                                   : " cannot be examined: " + error.message()) +
                                               "; repair it, or remove it");
    }
    if (entry.path().filename().string().starts_with('.')) {
      pass_over_entry(name, listing);
    } else if (fs::is_directory(status)) {
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
  if (first.size() > NotText::kMostNamed) first.resize(NotText::kMostNamed);
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
  const NotText& passed = listing.passed_over;
  if (passed.count == 0 && listing.empty == 0) return "";
  std::string text = "; passed over: ";
  if (passed.count > 0) {
    const std::int64_t more = passed.count - static_cast<std::int64_t>(passed.first.size());
    text += std::to_string(passed.count) + (passed.count == 1 ? " entry that is" : " entries that are") + " no text (" +
            comma_list(passed.first) + (more > 0 ? " and " + std::to_string(more) + " more)" : ")");
  }
  if (listing.empty > 0) text += (passed.count > 0 ? ", " : "") + count_text(listing.empty, "empty file");
  return text;
}

}  // namespace eave
