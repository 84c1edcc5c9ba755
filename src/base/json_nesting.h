// How deep JSON from a file may nest before it is parsed: the values that the parser makes copy themselves recursively,
// so that a file of brackets would end the process.
#pragma once

#include <string_view>

namespace eave {

constexpr int kMostNested = 64;  // ours nest 5 deep

// Whether arrays and objects lie more than `most` deep in one another, as far as `json` is JSON.
bool is_too_nested(std::string_view json, int most = kMostNested);

}  // namespace eave
