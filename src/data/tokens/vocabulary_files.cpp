#include "data/tokens/vocabulary_files.h"

#include <set>

#include "base/formats/strict_json.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "data/files/byte_source.h"
#include "data/tokens/vocabulary_json.h"
#include "eave/check.h"

namespace eave {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestVocabularyFile = std::uint64_t{1} << 28;

// Merges are text, and all else is JSON.
void require_text_or_json(const ByteSource& file) {
  const ContentKind kind = content_kind_of(file, ContentGroup::kWebPage);
  const bool may_be_right = kind.group == ContentGroup::kUnknown || kind.group == ContentGroup::kText ||
                            kind.group == ContentGroup::kEmpty || kind.what == kJsonContent;
  if (!may_be_right)
    throw Error(ExitCode::kBadData, file.name() + " is no vocabulary; " + describe_content(kind, kWriteTokenizerJson));
}

std::pair<std::string, std::string> pair_in(std::string_view line, const std::string& name, const std::string& place) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string_view::npos) {
    refuse_vocabulary(name, ", " + place + ": expected two parts of a merge with a space between, found " +
                                quoted_token(std::string(line)));
  }
  return {std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

}  // namespace

void refuse_vocabulary(const std::string& name, const std::string& what) {
  throw Error(ExitCode::kBadData, name + what + "; get the file again, or name another with --vocabulary");
}

void refuse_kind(const std::string& name, const std::string& what) {
  throw Error(ExitCode::kBadData,
              name + ": " + what +
                  "; eave reads byte-level BPE (GPT-2, Llama 3, Qwen and their like), and BPE of characters with "
                  "byte_fallback or unk_token (Llama 2, Mistral, Gemma): name another with --vocabulary");
}

std::string read_vocabulary_file(const std::filesystem::path& path) {
  const FileSource file(path);
  if (file.size() > kLargestVocabularyFile)
    throw Error(ExitCode::kBadData, file.name() + " has " + count_text(static_cast<std::int64_t>(file.size()), "byte") +
                                        ", too many for a vocabulary: name another with --vocabulary");
  require_text_or_json(file);
  std::string text(file.size(), '\0');
  text.resize(file.read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  return text;
}

std::string quoted_token(const std::string& token) { return "'" + printable(token.substr(0, 80)) + "'"; }

bool is_in_brackets(std::string_view token) {
  return (token.starts_with('<') && token.ends_with('>')) || (token.starts_with('[') && token.ends_with(']'));
}

json parse_large_json(std::string_view text, const std::string& name) {
  if (is_too_nested(text)) refuse_vocabulary(name, " nests too deep for a vocabulary");
  std::vector<std::set<std::string>> names;
  const auto look = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end) names.pop_back();
    if (event == json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second)
      refuse_vocabulary(name, " has the name " + quoted_token(value.get<std::string>()) + " twice in one object");
    return true;
  };
  try {
    return json::parse(text, look);
  } catch (const json::parse_error& error) {
    refuse_vocabulary(name, " is no JSON, from byte " + std::to_string(error.byte) + " on");
  } catch (const json::exception&) {
    refuse_vocabulary(name, " holds a number that cannot be read");
  }
}

TokenNumbers numbers_in(const json& object, const std::string& name) {
  if (!object.is_object() || object.empty())
    refuse_vocabulary(name, " holds no vocabulary: expected an object of tokens and their numbers");
  TokenNumbers numbers;
  std::set<std::int32_t> seen;
  for (const auto& [token, value] : object.items()) {
    const bool is_number = value.is_number_unsigned() && value.get<std::uint64_t>() < kMostTokens;
    if (!is_number) {
      refuse_vocabulary(name, ": the number of the token " + quoted_token(token) + " is not a whole number from 0 to " +
                                  std::to_string(kMostTokens - 1));
    }
    const auto number = value.get<std::int32_t>();
    if (!seen.insert(number).second)
      refuse_vocabulary(name, " gives the number " + std::to_string(number) + " to two tokens");
    numbers.emplace(token, number);
  }
  return numbers;
}

const json& member(const json& object, const char* name) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string type_of(const json& part) {
  if (part.is_null()) return "none";
  const json& type = member(part, "type");
  return type.is_string() ? printable(type.get<std::string>().substr(0, 80)) : "of an unknown type";
}

std::vector<std::pair<std::string, std::string>> merges_in(const json& list, const std::string& name) {
  if (!list.is_array()) refuse_vocabulary(name, " holds no list of merges");
  std::vector<std::pair<std::string, std::string>> merges;
  for (const json& each : list) {
    const std::string place = "merge " + std::to_string(merges.size() + 1);
    if (each.is_string()) {
      merges.push_back(pair_in(each.get_ref<const std::string&>(), name, place));
    } else if (each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string()) {
      merges.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
    } else {
      refuse_vocabulary(name, ", " + place + ": expected two texts");
    }
  }
  return merges;
}

TokenNumbers parse_token_numbers(std::string_view text, const std::string& name) {
  return numbers_in(parse_large_json(text, name), name);
}

std::vector<std::pair<std::string, std::string>> parse_merges(std::string_view text, const std::string& name) {
  std::vector<std::pair<std::string, std::string>> merges;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    merges.push_back(pair_in(line, name, "line " + std::to_string(number)));
  }
  if (merges.empty()) refuse_vocabulary(name, " holds no merges");
  return merges;
}

std::string letter_of_byte(std::uint8_t byte) {
  const auto is_visible = [](int value) {
    return (value >= 0x21 && value <= 0x7E) || (value >= 0xA1 && value <= 0xAC) || value >= 0xAE;
  };
  int code = byte;
  if (!is_visible(byte)) {
    code = 256;
    for (int before = 0; before < byte; ++before) code += is_visible(before) ? 0 : 1;
  }
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace eave
