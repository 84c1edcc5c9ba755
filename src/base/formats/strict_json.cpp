#include "base/formats/strict_json.h"

#include <set>
#include <vector>

namespace eave {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNames = 4096;  // ordered_json searches all names of an object for each new one

class NamesOnce {
 public:
  void take(Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const std::string& name = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(name).second) throw AmbiguousJson("it names '" + name + "' twice");
      if (open_.back().size() > kMostNames) throw AmbiguousJson("it has an object of more than 4096 names");
    }
  }

 private:
  std::vector<std::set<std::string>> open_;
};

// Counts '[' and '{' without a branch: they differ only in bit 0x20.
std::size_t openings(std::string_view json) {
  std::size_t count = 0;
  for (const char letter : json) count += (letter | 0x20) == '{' ? 1 : 0;
  return count;
}

}  // namespace

Json parse_json(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw AmbiguousJson("it has a byte 0");
  if (text.starts_with("\xef\xbb\xbf")) throw AmbiguousJson("it begins with a byte order mark");
  if (is_too_nested(text)) throw AmbiguousJson("it nests too deep");
  NamesOnce names;
  return Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
    names.take(event, parsed);
    return true;
  });
}

Json parse_json_or_discard(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const Json::exception&) {
    return Json(Json::value_t::discarded);
  }
}

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
