// The header of a safetensors file, held to what the format's own library holds it to: it takes what that takes, and
// refuses what that refuses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace eave {

struct StoredArray {
  std::string name;
  std::string type;  // "F32", "BF16", ...
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes of the content
};

struct SafetensorsHeader {
  std::vector<StoredArray> arrays;  // in the order of their places
  std::map<std::string, std::string> metadata;
};

// `text`: the header; `content_bytes`: what follows it. Every byte of the content belongs to one array. Throws
// Error(kBadData) that says what is wrong, without the file's name. The time it takes is proportional to the text.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t content_bytes);

}  // namespace eave
