// Finds the documents of a text: files in a folder and in the folders below it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/data_directory.h"

namespace eave {

struct TextListing {
  std::filesystem::path folder;
  std::vector<std::string> names;  // of the documents, relative to the folder; sorted by their bytes
  // Entries that are not documents: files with a zero byte among their first 8000, files of a kind that content_kind is
  // sure of and that is no text, links to folders, sockets and the like, names that begin with a dot.
  PassedOver passed_over;
  std::string other_encoding;  // "a.txt is text in UTF-16: ..." of a file that is passed over
  std::int64_t empty = 0;      // files of 0 bytes, which are no documents
};

// `place` is a folder, or one file. Throws Error(kInputMissing) if it holds no document or cannot be looked through,
// and if a link in it leads nowhere. Throws Error(kBadData) if a file is a pointer of git-lfs or git-annex.
TextListing list_text(const std::filesystem::path& place);

// "; passed over: 2 entries that are no text (a.png, b.gz), 1 empty file"; "" if all files are documents.
std::string describe_passed_over(const TextListing& listing);

}  // namespace eave
