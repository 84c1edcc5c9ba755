// Parses the header of a safetensors file. It accepts and refuses the same headers as the format's own library.
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
  std::uint64_t begin = 0, end = 0;  // offsets into the content, in bytes
};

struct SafetensorsHeader {
  std::vector<StoredArray> arrays;  // in the order of their offsets
  std::map<std::string, std::string> metadata;
};

// `text` is the header, `content_bytes` the number of bytes after it. Every byte of the content must belong to one
// array. Throws Error(kBadData) that says what is wrong, without the file's name. Takes time proportional to the text.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t content_bytes);

}  // namespace eave
