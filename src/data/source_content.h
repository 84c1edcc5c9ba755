// What a source holds that is not what its reader expected.
#pragma once

#include <string>

#include "base/content_kind.h"
#include "data/byte_source.h"

namespace eave {

// As content_kind. Of a gzip file it also tells what is packed in it.
ContentKind content_kind_of(const ByteSource& source);

// "is an HTML page: get the file again", or "" if the kind is unknown. `remedy` is taken if the kind has none.
std::string describe_source(const ByteSource& source, const std::string& remedy);

}  // namespace eave
