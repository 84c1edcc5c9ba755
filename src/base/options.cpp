#include "eave/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "eave/check.h"

namespace eave {
namespace {

using Scale = std::pair<std::string_view, double>;

constexpr double kKibi = 1024.0, kKilo = 1000.0;
const std::vector<Scale> kByteScales = {{"", 1},
                                        {"b", 1},
                                        {"k", kKibi},
                                        {"kib", kKibi},
                                        {"kb", kKilo},
                                        {"m", kKibi* kKibi},
                                        {"mib", kKibi* kKibi},
                                        {"mb", kKilo* kKilo},
                                        {"g", kKibi* kKibi* kKibi},
                                        {"gib", kKibi* kKibi* kKibi},
                                        {"gb", kKilo* kKilo* kKilo}};
const std::vector<Scale> kSecondScales = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"min", 60}, {"h", 3600}};
const std::vector<Scale> kRateScales = {{"bit", 0.125}, {"kbit", 125}, {"mbit", 125e3}, {"gbit", 125e6},
                                        {"b/s", 1},     {"kb/s", 1e3}, {"mb/s", 1e6},   {"gb/s", 1e9}};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::optional<double> parse_scaled(std::string_view text, const std::vector<Scale>& scales) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string unit = lower(std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)));
  for (const auto& [name, scale] : scales) {
    if (unit == name || (number == 0 && unit.empty())) return number * scale;
  }
  return std::nullopt;
}

std::optional<bool> parse_flag(std::string_view text) {
  const std::string word = lower(text);
  if (word == "on" || word == "true" || word == "1" || word == "yes" || word.empty()) return true;
  if (word == "off" || word == "false" || word == "0" || word == "no") return false;
  return std::nullopt;
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const OptionValues::Entry& entry, const std::string& expected) {
  throw Error(ExitCode::kUsage,
              "--" + entry.spec.name + " " + entry.text + " (" + entry.source + "): expected " + expected);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool same_meaning(const OptionSpec& a, const OptionSpec& b) {
  return a.type == b.type && a.default_text == b.default_text && a.choices == b.choices;
}

// Values are checked where they are set, so that the message can name the place they came from.
void check_value(const OptionValues& values, const OptionValues::Entry& entry) {
  const std::string& name = entry.spec.name;
  switch (entry.spec.type) {
    case OptionType::kText:
      if (!entry.spec.choices.empty() &&
          std::find(entry.spec.choices.begin(), entry.spec.choices.end(), entry.text) == entry.spec.choices.end()) {
        const std::string near = nearest_word(entry.text, entry.spec.choices);
        refuse(entry, "one of " + join(entry.spec.choices) + (near.empty() ? "" : "; did you mean " + near + "?"));
      }
      break;
    case OptionType::kPath:
      break;
    case OptionType::kInteger:
      values.integer(name, INT64_MIN);
      break;
    case OptionType::kReal:
      values.real(name);
      break;
    case OptionType::kFlag:
      values.flag(name);
      break;
    case OptionType::kBytes:
      values.bytes(name);
      break;
    case OptionType::kSeconds:
      values.seconds(name);
      break;
    case OptionType::kRate:
      values.bytes_per_second(name);
      break;
  }
}

// Options that contain the word, or are contained in it: the shortest way from one to the other first.
std::vector<std::string> related_options(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t kShortest = 3, kMost = 4;
  const auto contains = [](const std::string& text, const std::string& part) {
    return part.size() >= kShortest && text.find(part) != std::string::npos;
  };
  std::vector<std::pair<std::size_t, std::string>> related;
  for (const std::string& name : names) {
    if (contains(name, word)) related.emplace_back(name.size() - word.size(), name);
    if (contains(word, name)) related.emplace_back(word.size() - name.size(), name);
  }
  std::sort(related.begin(), related.end());
  if (related.size() > kMost) related.resize(kMost);
  std::vector<std::string> result;
  for (const auto& [distance, name] : related) result.push_back(name);
  return result;
}

std::string suggest_options(const std::string& word, const std::vector<std::string>& names) {
  std::vector<std::string> suggestions = related_options(word, names);
  const std::string near = nearest_word(word, names);
  if (!near.empty() && std::ranges::find(suggestions, near) == suggestions.end()) suggestions.push_back(near);
  if (suggestions.empty()) return "see --help";
  std::string text = "did you mean --" + suggestions.front();
  for (std::size_t i = 1; i < suggestions.size(); ++i) {
    text += (i + 1 < suggestions.size() ? ", --" : " or --") + suggestions[i];
  }
  return text + "?";
}

// How many letters to add, drop or change; `row` is room for it.
std::size_t edits_between(std::string_view word, std::string_view other, std::vector<std::size_t>& row) {
  row.resize(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : word) {
    std::size_t* here = row.data();
    std::size_t diagonal = (*here)++;
    for (const char beside : other) {
      const std::size_t substituted = diagonal + (letter == beside ? 0 : 1), inserted = *here++ + 1;
      diagonal = *here;
      *here = std::min(std::min(inserted, diagonal + 1), substituted);
    }
  }
  return row.back();
}

}  // namespace

void OptionValues::declare(const OptionSpec& spec) {
  const auto found = entries_.find(spec.name);
  if (found != entries_.end()) {
    if (!same_meaning(found->second.spec, spec))
      throw Error(ExitCode::kInternal, "option --" + spec.name + " is declared twice, differently");
    return;
  }
  entries_[spec.name] = Entry{spec, spec.default_text, "default", false};
}

void OptionValues::set_default(std::string_view name, std::string text) {
  const auto found = entries_.find(name);
  EAVE_CHECK(found != entries_.end(), "option --" + std::string(name) + " has a default but is not declared");
  Entry& entry = found->second;
  entry.spec.default_text = text;
  if (!entry.is_set) entry.text = std::move(text);
}

void OptionValues::set(std::string_view name, std::string text, std::string source) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, unused] : entries_) names.push_back(known);
    throw Error(ExitCode::kUsage, "unknown option --" + std::string(name) + " (" + source + "); " +
                                      suggest_options(std::string(name), names));
  }
  Entry& entry = found->second;
  entry.text = std::move(text);
  entry.source = std::move(source);
  entry.is_set = true;
  check_value(*this, entry);
}

const OptionValues::Entry& OptionValues::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  EAVE_CHECK(found != entries_.end(), "option --" + std::string(name) + " is read but not declared");
  return found->second;
}

bool OptionValues::has(std::string_view name) const {
  const Entry& found = entry(name);
  return found.is_set || !found.text.empty();
}

bool OptionValues::given(std::string_view name) const { return entry(name).is_set; }

const std::string& OptionValues::text(std::string_view name) const { return entry(name).text; }

std::int64_t OptionValues::integer(std::string_view name, std::int64_t minimum, std::int64_t maximum) const {
  const Entry& found = entry(name);
  const auto number = parse_number<std::int64_t>(found.text);
  if (!number) refuse(found, "a whole number");
  if (*number < minimum) refuse(found, "at least " + std::to_string(minimum));
  if (*number > maximum) refuse(found, "at most " + std::to_string(maximum));
  return *number;
}

double OptionValues::real(std::string_view name) const {
  const Entry& found = entry(name);
  const auto number = parse_number<double>(found.text);
  if (!number || !std::isfinite(*number)) refuse(found, "a finite number, such as 0.1 or 1e-3");
  return *number;
}

bool OptionValues::flag(std::string_view name) const {
  const Entry& found = entry(name);
  const auto value = parse_flag(found.text);
  if (!value) refuse(found, "on or off");
  return *value;
}

std::int64_t OptionValues::bytes(std::string_view name) const {
  const Entry& found = entry(name);
  const auto value = parse_scaled(found.text, kByteScales);
  if (!value || *value > 9e18) refuse(found, "a size, such as 64k, 4MiB or 1GB");
  return static_cast<std::int64_t>(*value);
}

double OptionValues::seconds(std::string_view name) const {
  const Entry& found = entry(name);
  const auto value = parse_scaled(found.text, kSecondScales);
  if (!value) refuse(found, "a time with its unit, such as 5ms, 2s or 10min");
  return *value;
}

double OptionValues::bytes_per_second(std::string_view name) const {
  const Entry& found = entry(name);
  const auto value = parse_scaled(found.text, kRateScales);
  if (!value) refuse(found, "a rate with its unit, such as 100mbit, 1gbit or 12.5MB/s");
  return *value;
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::vector<std::size_t> row;
  for (const std::string& candidate : candidates) {
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= best_distance) continue;
    const std::size_t distance = edits_between(word, candidate, row);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

void refuse_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest_word(name, known);
  throw Error(ExitCode::kUsage, "there is no '" + std::string(name) + "'; " +
                                    (near.empty() ? "expected one of " + join(known) : "did you mean " + near + "?"));
}

}  // namespace eave
