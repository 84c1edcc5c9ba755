#include "data/source_content.h"

#include <array>

#include "data/gzip_reader.h"
#include "eave/check.h"

namespace eave {
namespace {

ContentKind packed_kind(const ByteSource& source) {
  std::array<std::uint8_t, kContentBytes> begin{};
  try {
    return content_kind(std::span(begin).first(GzipReader(source).read(begin)));
  } catch (const Error&) {
    return {};  // it is damaged
  }
}

}  // namespace

ContentKind content_kind_of(const ByteSource& source) {
  std::array<std::uint8_t, kContentBytes> begin{};
  ContentKind kind = content_kind(std::span(begin).first(source.read_at(0, begin)));
  if (!is_gzip(source)) return kind;
  const ContentKind inner = packed_kind(source);
  if (inner.what.empty()) return kind;
  kind.what += " that holds " + inner.what;
  if (inner.group != ContentGroup::kPacked && !inner.remedy.empty()) kind.remedy = inner.remedy;
  if (inner.what.find("tar archive") != std::string::npos) kind.remedy = "unpack it with tar -xzf";
  return kind;
}

std::string describe_source(const ByteSource& source, const std::string& remedy) {
  const ContentKind kind = content_kind_of(source);
  if (kind.what.empty()) return "";
  return "is " + kind.what + ": " + (kind.remedy.empty() ? remedy : kind.remedy);
}

}  // namespace eave
