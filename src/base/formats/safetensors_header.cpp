// Parses the header of a safetensors file. It accepts and refuses the same headers as the format's own library, but
// refuses entries of many objects.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/formats/safetensors.h"
#include "base/formats/strict_json.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

using HeaderJson = nlohmann::json;
using Event = HeaderJson::parse_event_t;

constexpr int kDeepest = 127;     // the limit of the format's own library
constexpr int kMostObjects = 64;  // in an entry, which needs one at most
constexpr const char* kMetadata = "__metadata__";

[[noreturn]] void refuse(const std::string& why) { throw Error(ExitCode::kBadData, why); }

// The bits of one value; 0 if there is no such type.
std::uint64_t bits_of(const std::string& type) {
  static const std::map<std::string, std::uint64_t> kBitsOfTypes = {
      {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},        {"U8", 8},          {"I8", 8},
      {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
      {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
      {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};
  const auto found = kBitsOfTypes.find(type);
  return found == kBitsOfTypes.end() ? 0 : found->second;
}

// Quotes and shortens a name from a file, for messages.
std::string in_quotes(const std::string& name) { return "'" + name.substr(0, 80) + "'"; }

std::vector<std::uint64_t> sizes_in(const HeaderJson& values, const std::string& array) {
  std::vector<std::uint64_t> sizes;
  if (!values.is_array()) refuse("has an array " + in_quotes(array) + " whose shape or place is no list");
  for (const HeaderJson& value : values) {
    if (!value.is_number_unsigned())
      refuse("has an array " + in_quotes(array) + " with a size that is no whole number");
    sizes.push_back(value.get<std::uint64_t>());
  }
  return sizes;
}

// The format's own library writes a type as text, and also reads {"F32": null}.
std::string type_in(const HeaderJson& value, const std::string& array) {
  std::string type;
  if (value.is_string()) type = value.get<std::string>();
  if (value.is_object() && value.size() == 1 && value.begin()->is_null()) type = value.begin().key();
  if (bits_of(type) == 0)
    refuse("has an array " + in_quotes(array) + " of a type that there is not: " + in_quotes(type));
  return type;
}

StoredArray array_in(const std::string& name, const HeaderJson& entry) {
  const HeaderJson* parts[3] = {nullptr, nullptr, nullptr};
  constexpr const char* kParts[3] = {"dtype", "shape", "data_offsets"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (entry.is_array() && entry.size() == 3) parts[i] = &entry[i];
    if (entry.is_object() && entry.contains(kParts[i])) parts[i] = &entry[kParts[i]];
    if (parts[i] == nullptr) refuse("has an array " + in_quotes(name) + " without " + kParts[i]);
  }
  const std::vector<std::uint64_t> place = sizes_in(*parts[2], name);
  if (place.size() != 2) refuse("has an array " + in_quotes(name) + " whose place is no pair of numbers");
  return {name, type_in(*parts[0], name), sizes_in(*parts[1], name), place[0], place[1]};
}

std::map<std::string, std::string> texts_in(const HeaderJson& object) {
  std::map<std::string, std::string> texts;
  if (object.is_null()) return texts;
  if (!object.is_object()) refuse("has metadata that are no object");
  for (const auto& [name, value] : object.items()) {
    if (!value.is_string()) refuse("has metadata " + in_quotes(name) + " that are no text");
    texts[name] = value.get<std::string>();
  }
  return texts;
}

// Takes each entry from the parser as soon as it is whole, so that the parser can discard it.
class HeaderReading {
 public:
  bool take(int depth, Event event, const HeaderJson& parsed) {
    if (depth == 0) {
      if (event != Event::object_start && event != Event::object_end) refuse("has a header that is no JSON object");
      return true;
    }
    // The parser's time grows with the square of the number of objects in a list.
    if (event == Event::object_start && depth > 1 && ++objects_ > kMostObjects)
      refuse("has an array " + in_quotes(name_) + " of more than 64 objects");
    if (event == Event::key) take_name(depth, parsed.get_ref<const std::string&>());
    const bool is_end = event == Event::value || event == Event::object_end || event == Event::array_end;
    if (depth > 1 || !is_end) return true;
    if (name_ == kMetadata) {
      header_.metadata = texts_in(parsed);
    } else {
      // If several arrays have one name, the format's own library takes the last, and then checks all offsets.
      arrays_[name_] = array_in(name_, parsed);
    }
    return false;
  }

  SafetensorsHeader finish() {
    for (auto& [unused, array] : arrays_) header_.arrays.push_back(std::move(array));
    std::ranges::sort(header_.arrays, {}, [](const StoredArray& each) { return std::pair(each.begin, each.end); });
    return std::move(header_);
  }

 private:
  void take_name(int depth, const std::string& name) {
    if (depth == 1) {
      if (name == kMetadata && std::exchange(has_metadata_, true)) refuse("has metadata twice");
      name_ = name;
      parts_.clear();
      objects_ = 0;
    } else if (depth == 2 && name_ != kMetadata && (name == "dtype" || name == "shape" || name == "data_offsets")) {
      if (!parts_.insert(name).second) refuse("has an array " + in_quotes(name_) + " that says " + name + " twice");
    }
  }

  SafetensorsHeader header_;
  std::map<std::string, StoredArray> arrays_;
  std::string name_;             // name of the entry being read
  std::set<std::string> parts_;  // parts that this entry has already given
  int objects_ = 0;              // objects within this entry
  bool has_metadata_ = false;
};

void check_size(const StoredArray& array) {
  std::uint64_t bits = 1;
  for (const std::uint64_t extent : array.shape) {
    if (__builtin_mul_overflow(bits, extent, &bits))
      refuse("has an array " + in_quotes(array.name) + " larger than any file");
  }
  if (__builtin_mul_overflow(bits, bits_of(array.type), &bits))
    refuse("has an array " + in_quotes(array.name) + " larger than any file");
  if (bits % 8 != 0) refuse("has an array " + in_quotes(array.name) + " that is no whole number of bytes");
  if (array.end - array.begin != bits / 8)
    refuse("has an array " + in_quotes(array.name) + " whose place does not fit its shape and type");
}

void check_places(const std::vector<StoredArray>& arrays, std::uint64_t content_bytes) {
  std::uint64_t end = 0;
  for (const StoredArray& array : arrays) {
    if (array.begin < end)
      refuse("has arrays that lie over each other: " + in_quotes(array.name) + " and the one before");
    if (array.begin > end) refuse("has bytes before the array " + in_quotes(array.name) + " that no array covers");
    if (array.end < array.begin) refuse("has an array " + in_quotes(array.name) + " that ends before it begins");
    check_size(array);
    end = array.end;
  }
  if (end > content_bytes)
    refuse("has arrays of " + count_text(end, "byte") + ", and holds " + std::to_string(content_bytes) +
           " of them: the file is cut off");
  if (end < content_bytes)
    refuse("has " + count_text(content_bytes - end, "byte") + " after its last array that no array covers");
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t content_bytes) {
  // The parser would stop at a byte 0, and skip a byte order mark.
  if (text.find('\0') != std::string_view::npos || text.starts_with("\xef\xbb\xbf"))
    refuse("has a header that cannot be read: it has a byte 0, or begins with a byte order mark");
  if (is_too_nested(text, kDeepest)) refuse("has a header that nests too deep");
  HeaderReading reading;
  try {
    const auto parsed = HeaderJson::parse(
        text, [&](int depth, Event event, const HeaderJson& value) { return reading.take(depth, event, value); });
  } catch (const HeaderJson::exception& failure) {
    refuse(std::string("has a header that cannot be read: ") + failure.what());
  }
  SafetensorsHeader header = reading.finish();
  check_places(header.arrays, content_bytes);
  return header;
}

}  // namespace eave
