#include "base/formats/safetensors_parts.h"

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files/input_file.h"
#include "base/formats/strict_json.h"
#include "base/printable.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::size_t kMostBytesOfIndex = std::size_t{1} << 25;
constexpr const char* kEnding = ".safetensors.index.json";
constexpr const char* kRemedyOfParts = "; get the folder again, or write it anew with save_pretrained";

// The names of the arrays of each part.
using Parts = std::map<std::string, std::set<std::string>>;

[[noreturn]] void refuse_part(const std::filesystem::path& path, const std::string& why) {
  throw Error(ExitCode::kBadData, path.string() + ": " + why + kRemedyOfParts);
}

// A part lies beside the index: an index from elsewhere must not make eave read other files.
void require_plain_name(const std::filesystem::path& index, const std::string& part) {
  const std::filesystem::path name = part;
  const bool has_byte_0 = part.find('\0') != std::string::npos;  // the system would open the name before it
  if (part.empty() || name.filename() != name || part == "." || part == ".." || has_byte_0) {
    refuse_part(index, "names the part '" + printable(part) + "', expected the name of a file beside it");
  }
}

nlohmann::json parse_index(const std::filesystem::path& index) {
  try {
    return parse_json_of_many_names(read_file(index, kMostBytesOfIndex));
  } catch (const AmbiguousJson& failure) {
    refuse_part(index, std::string("is no index of safetensors: ") + failure.what());
  } catch (const nlohmann::json::exception&) {
    refuse_part(index, "is no index of safetensors: it is no JSON");
  }
}

Parts read_index(const std::filesystem::path& index) {
  const nlohmann::json json = parse_index(index);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object() ||
      json["weight_map"].empty()) {
    refuse_part(index, "is no index of safetensors, which has a \"weight_map\" from arrays to files");
  }
  Parts parts;
  for (const auto& [array, part] : json["weight_map"].items()) {
    if (!part.is_string()) refuse_part(index, "gives no name of a file for the array '" + printable(array) + "'");
    require_plain_name(index, part.get<std::string>());
    parts[part.get<std::string>()].insert(array);
  }
  return parts;
}

void check_arrays(const std::filesystem::path& index, const SafetensorsFile& part, std::set<std::string> expected) {
  std::set<std::string> found;
  for (const NamedArray& array : part.arrays) found.insert(array.name);
  for (const auto& [name, type] : part.types_left_out) found.insert(name);
  for (const std::string& name : found) {
    if (expected.erase(name) == 0) {
      refuse_part(part.path, "has the array '" + printable(name) + "', which " + index.filename().string() +
                                 " does not look for in it");
    }
  }
  if (expected.empty()) return;
  refuse_part(part.path, "lacks the array '" + printable(*expected.begin()) + "', which " + index.filename().string() +
                             " looks for in it");
}

SafetensorsFile read_part(const std::filesystem::path& index, const std::string& name) {
  const std::filesystem::path path = index.parent_path() / name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(ExitCode::kInputMissing, "no " + path.string() + ", a part of " + index.string() + kRemedyOfParts);
  }
  return read_safetensors(path);
}

// The metadata say how to read the arrays: a layout or a model of one part must not decide over another part.
void add_metadata(SafetensorsFile& whole, const SafetensorsFile& part) {
  for (const auto& [key, text] : part.metadata) {
    const auto [entry, is_new] = whole.metadata.emplace(key, text);
    if (is_new || entry->second == text || key == kArraysHash) continue;
    refuse_part(part.path, "its metadata say '" + printable(text) + "' for '" + printable(key) +
                               "', but those of another part say '" + printable(entry->second) + "'");
  }
}

// The arrays stay views of the part's memory, which a move leaves where it is.
void add_part(SafetensorsFile& whole, SafetensorsFile part) {
  add_metadata(whole, part);
  whole.moved.push_back(std::move(part.content));
  std::ranges::move(part.moved, std::back_inserter(whole.moved));
  std::ranges::move(part.arrays, std::back_inserter(whole.arrays));
  whole.types_left_out.merge(part.types_left_out);
}

}  // namespace

bool is_safetensors_index(const std::filesystem::path& path) { return path.filename().string().ends_with(kEnding); }

SafetensorsFile read_safetensors_parts(const std::filesystem::path& index) {
  SafetensorsFile whole;
  for (const auto& [name, arrays] : read_index(index)) {
    SafetensorsFile part = read_part(index, name);
    check_arrays(index, part, arrays);
    add_part(whole, std::move(part));
  }
  whole.path = index.string();
  return whole;
}

}  // namespace eave
