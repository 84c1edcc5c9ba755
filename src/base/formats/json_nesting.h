// Limits how deep JSON from a file may nest, before it is parsed. The parser's values copy themselves recursively, so a
// file of brackets would overflow the stack.
#pragma once

#include <string_view>

namespace eave {

constexpr int kMostNested = 64;  // eave's own files nest 5 deep

// Whether arrays and objects nest deeper than `most`. If `json` is not valid JSON, the answer holds up to the error.
bool is_too_nested(std::string_view json, int most = kMostNested);

}  // namespace eave
