// Finds the documents of a text: files in a folder and in the folders below it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace eave {

// Entries that are not documents: files with a zero byte among their first kBytesLookedAt, files of a kind that
// content_kind is sure of and that is no text, links to folders, sockets and the like, names that begin with a dot.
struct NotText {
  std::int64_t count = 0;
  std::vector<std::string> first;  // names of up to kMostNamed, relative to the folder
  static constexpr std::size_t kMostNamed = 4;
  static constexpr std::size_t kBytesLookedAt = 8000;
};

struct TextListing {
  std::filesystem::path folder;
  std::vector<std::string> names;  // of the documents, relative to the folder; sorted by their bytes
  NotText passed_over;
  std::int64_t empty = 0;  // files of 0 bytes, which are no documents
};

// `place` is a folder, or one file. Throws Error(kInputMissing) if it holds no document or cannot be looked through,
// and if a link in it leads nowhere. Throws Error(kBadData) if a file is a pointer of git-lfs or git-annex.
TextListing list_text(const std::filesystem::path& place);

// "; passed over: 2 entries that are no text (a.png, b.gz), 1 empty file"; "" if all files are documents.
std::string describe_passed_over(const TextListing& listing);

}  // namespace eave
