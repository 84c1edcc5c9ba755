#include "base/formats/strict_json.h"

#include <set>

namespace eave {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNames = 4096;  // ordered_json searches all names of an object for each new one

// Throws if a name occurs twice, or if an object has more than `most` names. It is a pass of its own: with a callback,
// the parser's time grows with the square of the number of objects in a list.
class NamesOnce final : public nlohmann::json_sax<Json> {
 public:
  explicit NamesOnce(std::size_t most) : most_(most) {}
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  bool start_object(std::size_t) override {
    open_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!open_.back().insert(name).second) throw AmbiguousJson("it names '" + name + "' twice");
    if (open_.back().size() > most_)
      throw AmbiguousJson("it has an object of more than " + std::to_string(most_) + " names");
    return true;
  }

 private:
  const std::size_t most_;
  std::vector<std::set<std::string>> open_;
};

// Counts '[' and '{' without a branch: they differ only in bit 0x20.
std::size_t openings(std::string_view json) {
  std::size_t count = 0;
  for (const char letter : json) count += (letter | 0x20) == '{' ? 1 : 0;
  return count;
}

void require_one_meaning(std::string_view text, std::size_t most_names) {
  if (text.find('\0') != std::string_view::npos) throw AmbiguousJson("it has a byte 0");
  if (text.starts_with("\xef\xbb\xbf")) throw AmbiguousJson("it begins with a byte order mark");
  if (is_too_nested(text)) throw AmbiguousJson("it nests too deep");
  NamesOnce names(most_names);
  Json::sax_parse(text, &names);
}

}  // namespace

Json parse_json(std::string_view text) {
  require_one_meaning(text, kMostNames);
  return Json::parse(text);
}

nlohmann::json parse_json_of_many_names(std::string_view text) {
  require_one_meaning(text, kManyNames);
  return nlohmann::json::parse(text);
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
