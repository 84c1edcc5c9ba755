// Decides which documents of a text, or which part of each, are held out for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "data/tokens/text_listing.h"

namespace eave {

struct TextDocument {
  std::string name;  // relative to the folder
  std::uint64_t size = 0;
  Hash128 hash;            // of the content
  std::uint64_t held = 0;  // bytes at its end that are held out: 0, `size`, or a part
};

struct TextParts {
  std::vector<TextDocument> documents;  // in the order of the listing
  // Whether a part of each document is held out. Otherwise whole documents are.
  bool are_cut = false;
};

// Reads all documents of the listing once. If there are at least 1 / share of them, a document is held out if the hash
// of its content is below the share. So this depends on no name, no order and no other document, and copies of one
// document stay together. There is one exception: the document with the lowest hash is always held out, and the one
// with the highest never. If there are fewer documents, about this share of each is held out, at its end: the part
// begins at a line, if one begins in the 4096 bytes before, else at a character of UTF-8.
// Throws Error: kBadData if all documents are equal, kInputMissing and kInputOutput if one cannot be read.
TextParts part_text(const TextListing& listing, double share);

// Reads a document as it was when it was parted. Throws Error(kInputOutput) if it has changed since.
std::vector<std::uint8_t> read_document(const std::filesystem::path& folder, const TextDocument& document);

// The number of bytes before the held-out end of a document with this content.
std::size_t place_of_cut(std::span<const std::uint8_t> content, double share);

}  // namespace eave
