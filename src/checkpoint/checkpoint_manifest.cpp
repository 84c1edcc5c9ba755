#include "checkpoint/checkpoint_manifest.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "base/formats/strict_json.h"
#include "eave/check.h"

namespace eave {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::string_view kBeforeHash = "\"xxh3_128\": \"", kAfterHash = "\"\n}\n";
constexpr std::size_t kDigits = 32;

[[noreturn]] void refuse_manifest(const std::string& why) { throw Error(ExitCode::kBadData, why); }

Hash128 hash_in(const std::string& text) {
  Hash128 hash;
  const auto half = [&](std::size_t from, std::uint64_t& value) {
    return std::from_chars(text.data() + from, text.data() + from + 16, value, 16).ptr == text.data() + from + 16;
  };
  if (text.size() != kDigits || !half(0, hash.high) || !half(16, hash.low) || hash.text() != text) {
    refuse_manifest("one of its hashes is not 32 hexadecimal digits");
  }
  return hash;
}

// Returns the part of the text before its hash. Throws Error(kBadData) if the hash does not match.
std::string_view hashed_part(std::string_view text) {
  const std::size_t tail = kDigits + kAfterHash.size();
  if (text.size() < tail + kBeforeHash.size() || !text.ends_with(kAfterHash)) refuse_manifest("it has no end");
  const std::string_view part = text.substr(0, text.size() - tail);
  if (!part.ends_with(kBeforeHash)) refuse_manifest("it ends without its hash");
  if (hash_of(part).text() != text.substr(part.size(), kDigits))
    refuse_manifest("it is not what was written: its hash differs");
  return part;
}

StoredFile file_in(const Json& entry) {
  StoredFile file{entry.at("name").get<std::string>(), integer_in<std::uint64_t>(entry.at("bytes")),
                  hash_in(entry.at("xxh3_128").get<std::string>())};
  if (!is_plain_name(file.name)) refuse_manifest("it names a file that eave would not write");
  return file;
}

void read_files(const Json& entries, Manifest& manifest) {
  std::set<std::string> names;
  for (const Json& entry : entries) {
    manifest.files.push_back(file_in(entry));
    if (!names.insert(manifest.files.back().name).second) refuse_manifest("it names a file twice");
  }
  if (manifest.files.empty()) refuse_manifest("it names no file");
}

}  // namespace

int count_in(const Manifest& manifest, const char* note) {
  return static_cast<int>(
      std::clamp<std::int64_t>(number_in(manifest, note).value_or(1), 1, std::ssize(manifest.files)));
}

std::optional<std::int64_t> number_in(const Manifest& manifest, const char* note) {
  const auto found = manifest.notes.find(note);
  std::int64_t number = 0;
  if (found == manifest.notes.end()) return {};
  const char* const end = found->second.data() + found->second.size();
  return std::from_chars(found->second.data(), end, number).ec == std::errc() ? std::optional(number) : std::nullopt;
}

Hash128 configuration_of(const std::map<std::string, std::string>& identity) {
  std::string text;
  for (const auto& [name, value] : identity) text += name + " = " + value + "\n";
  return hash_of(text);
}

std::string encode_manifest(const Manifest& manifest) {
  Json files = Json::array();
  for (const StoredFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", file.hash.text()}});
  }
  const Json all = {{"format", kFormat},           {"step", manifest.step},
                    {"samples", manifest.samples}, {"identity", manifest.identity},
                    {"notes", manifest.notes},     {"files", files}};
  std::string text = all.dump(2, ' ', false, Json::error_handler_t::replace);
  text.resize(text.size() - 2);  // the closing "\n}"
  text += ",\n  " + std::string(kBeforeHash);
  return text + hash_of(text).text() + std::string(kAfterHash);
}

Manifest parse_manifest(std::string_view text) {
  hashed_part(text);
  Manifest manifest;
  try {
    const Json all = parse_json(text);
    if (all.at("format") != kFormat)
      refuse_manifest("its format is " + all.at("format").dump() + "; this eave reads " + std::to_string(kFormat));
    manifest.step = integer_in<std::int64_t>(all.at("step"));
    manifest.samples = integer_in<std::int64_t>(all.at("samples"));
    all.at("identity").get_to(manifest.identity);
    all.at("notes").get_to(manifest.notes);
    read_files(all.at("files"), manifest);
  } catch (const Json::exception& failure) {
    refuse_manifest(std::string("it cannot be read: ") + failure.what());
  }
  if (manifest.step < 1 || manifest.samples < 0) refuse_manifest("it is of no step");
  return manifest;
}

}  // namespace eave
