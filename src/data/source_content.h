// What a source holds that is not what its reader expected.
#pragma once

#include <string>

#include "base/content_kind.h"
#include "data/byte_source.h"

namespace eave {

// As content_kind. A gzip file is "a gzip file that holds an HTML page". Its remedy is gunzip only if that may help:
// its content is unknown, packed again, or of the group that the reader wants.
ContentKind content_kind_of(const ByteSource& source, ContentGroup wanted = ContentGroup::kUnknown);

// For a reader that unpacks gzip files itself: "is an HTML page: get the file again". `remedy` is taken if the kind has
// none. "" if the kind is unknown, or what a gzip file holds.
std::string describe_unpacked(const ByteSource& source, const std::string& remedy);

}  // namespace eave
