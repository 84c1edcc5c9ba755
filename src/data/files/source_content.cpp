#include "data/files/source_content.h"

#include <array>
#include <string_view>

#include "data/files/gzip_reader.h"
#include "eave/check.h"

namespace eave {
namespace {

ContentKind packed_kind(const ByteSource& source) {
  std::array<std::uint8_t, kContentBytes> begin{};
  try {
    return content_kind(std::span(begin).first(GzipReader(source).read(begin)));
  } catch (const Error&) {
    return {};  // the gzip file is damaged
  }
}

// Combines gunzip with the remedy for the content.
std::string then_unpack(const std::string& gunzip, const ContentKind& inner) {
  constexpr std::string_view kUnpack = "unpack it ";
  if (inner.what.find("tar archive") != std::string::npos) return "unpack it with tar -xzf";
  if (!inner.remedy.starts_with(kUnpack) || inner.remedy == gunzip) return gunzip;
  return gunzip + ", then " + inner.remedy.substr(kUnpack.size());
}

}  // namespace

ContentKind content_kind_of(const ByteSource& source, ContentGroup wanted) {
  std::array<std::uint8_t, kContentBytes> begin{};
  ContentKind kind = content_kind(std::span(begin).first(source.read_at(0, begin)));
  if (!is_gzip(source)) return kind;
  const ContentKind inner = packed_kind(source);
  if (inner.what.empty()) return kind;
  kind.what += " that holds " + inner.what;
  if (inner.group == ContentGroup::kPacked) {
    kind.remedy = then_unpack(kind.remedy, inner);
  } else if (inner.group != wanted) {
    kind.remedy = inner.remedy;
  }
  return kind;
}

std::string describe_unpacked(const ByteSource& source, const std::string& remedy) {
  const ContentKind kind = content_kind_of(source);
  if (kind.what.empty() || (is_gzip(source) && packed_kind(source).what.empty())) return "";
  return "is " + kind.what + ": " + (kind.remedy.empty() ? remedy : kind.remedy);
}

}  // namespace eave
