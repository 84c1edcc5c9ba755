#include "base/formats/strict_json.h"

#include <set>
#include <vector>

#include "base/formats/json_nesting.h"

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
      if (!open_.back().insert(name).second) throw UnclearJson("it names '" + name + "' twice");
      if (open_.back().size() > kMostNames) throw UnclearJson("it has an object of more than 4096 names");
    }
  }

 private:
  std::vector<std::set<std::string>> open_;
};

}  // namespace

Json parse_json(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw UnclearJson("it has a byte 0");
  if (text.starts_with("\xef\xbb\xbf")) throw UnclearJson("it begins with a byte order mark");
  if (is_too_nested(text)) throw UnclearJson("it nests too deep");
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

}  // namespace eave
