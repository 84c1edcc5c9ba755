// Says what a source holds, if it is not what its reader expected.
#pragma once

#include <string>

#include "base/files/content_kind.h"
#include "data/files/byte_source.h"

namespace eave {

// Like content_kind, and looks into gzip files: "a gzip file that holds an HTML page". The remedy is gunzip only if
// that may help: if the content is unknown, compressed again, or of the group that the reader wants.
ContentKind content_kind_of(const ByteSource& source, ContentGroup wanted = ContentGroup::kUnknown);

// For a reader that unpacks gzip files itself: "is an HTML page: get the file again". `remedy` is used if the kind has
// none. "" if the kind is unknown, also that of a gzip file's content.
std::string describe_unpacked(const ByteSource& source, const std::string& remedy);

}  // namespace eave
