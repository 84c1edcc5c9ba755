#include "base/formats/json_nesting.h"

namespace eave {
namespace {

// Counts '[' and '{' without a branch: they differ only in bit 0x20.
std::size_t openings(std::string_view json) {
  std::size_t count = 0;
  for (const char letter : json) count += (letter | 0x20) == '{' ? 1 : 0;
  return count;
}

}  // namespace

bool is_too_nested(std::string_view json, int most) {
  // Most files have fewer openings in all. Counting them takes a tenth of the time of the full check.
  if (openings(json) <= static_cast<std::size_t>(most)) return false;
  int depth = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char letter = json[i];
    if (is_in_text && letter == '\\') {
      ++i;
    } else if (letter == '"') {
      is_in_text = !is_in_text;
    } else if (is_in_text) {
      continue;
    } else if (letter == '[' || letter == '{') {
      if (++depth > most) return true;
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace eave
