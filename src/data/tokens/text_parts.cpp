#include "data/tokens/text_parts.h"

#include <algorithm>
#include <cmath>

#include "base/options/number_text.h"
#include "data/files/byte_source.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFarthestLine = 4096;

std::vector<std::uint8_t> read_whole(const fs::path& path) {
  const FileSource file(path);
  std::vector<std::uint8_t> content(file.size());
  const std::size_t count = file.read_at(0, content);
  if (count == content.size()) return content;
  throw Error(ExitCode::kInputOutput, file.name() + " became shorter while it was read");
}

Hash128 hash_of_content(std::span<const std::uint8_t> content) {
  return hash_of({reinterpret_cast<const char*>(content.data()), content.size()});
}

void hold_out_documents(std::vector<TextDocument>& documents, double share) {
  const auto bound = static_cast<std::uint64_t>(std::ldexp(share, 64));
  const auto hash = [](const TextDocument& document) { return document.hash.high; };
  const auto [lowest, highest] = std::ranges::minmax(documents, {}, hash);
  const std::uint64_t least = hash(lowest), most = hash(highest);
  if (least == most) {
    throw Error(ExitCode::kBadData, "all " + count_text(std::ssize(documents), "file") + " of the text are equal, so " +
                                        "none can be held out for tests: add other text, or keep one of them");
  }
  for (TextDocument& document : documents) {
    const bool is_held = hash(document) == least || (hash(document) < bound && hash(document) != most);
    document.held = is_held ? document.size : 0;
  }
}

}  // namespace

std::size_t place_of_cut(std::span<const std::uint8_t> content, double share) {
  const auto size = static_cast<double>(content.size());
  std::size_t place = std::min(static_cast<std::size_t>(std::llround((1 - share) * size)), content.size());
  const std::size_t farthest = place > kFarthestLine ? place - kFarthestLine : 1;
  for (std::size_t line = place; line >= farthest && line > 0; --line) {
    if (content[line - 1] == '\n' && line < content.size()) return line;
  }
  const auto continues = [&](std::size_t at) { return at < content.size() && (content[at] & 0xC0) == 0x80; };
  for (int i = 0; i < 3 && place > 0 && continues(place); ++i) --place;
  return place;
}

TextParts part_text(const TextListing& listing, double share) {
  TextParts parts;
  parts.are_cut = static_cast<double>(listing.names.size()) * share < 1;
  for (const std::string& name : listing.names) {
    const std::vector<std::uint8_t> content = read_whole(listing.folder / name);
    TextDocument document{name, content.size(), hash_of_content(content)};
    if (parts.are_cut) document.held = content.size() - place_of_cut(content, share);
    parts.documents.push_back(std::move(document));
  }
  if (!parts.are_cut) hold_out_documents(parts.documents, share);
  return parts;
}

std::vector<std::uint8_t> read_document(const fs::path& folder, const TextDocument& document) {
  std::vector<std::uint8_t> content = read_whole(folder / document.name);
  if (content.size() == document.size && hash_of_content(content) == document.hash) return content;
  throw Error(ExitCode::kInputOutput, (folder / document.name).string() + " was changed while eave read it");
}

}  // namespace eave
