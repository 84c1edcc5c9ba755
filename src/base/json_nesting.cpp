#include "base/json_nesting.h"

namespace eave {

bool is_too_nested(std::string_view json) {
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
      if (++depth > kMostNested) return true;
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace eave
