// Options as data. Each member of a family (a communicator, a dataset …) declares its own options; the program merges
// them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace eave {

enum class OptionType { kText, kPath, kPaths, kInteger, kReal, kFlag, kBytes, kSeconds, kRate };

// One command-line option, `--name`. Its value is kept as text until a typed getter of OptionValues reads it. The
// types:
//     kPath     name of a file or directory; a leading ~ is a home directory
//     kPaths    several of them, separated by commas
//     kBytes    "64k", "25MiB"
//     kSeconds  "5ms", "2s"
//     kRate     "1gbit", "100mbit", "10MB/s"; read as bytes per second
//     kFlag     "on" or "off"; --name without a value means on
struct OptionSpec {
  std::string name;  // as typed, without dashes: "bucket-bytes"
  OptionType type = OptionType::kText;
  std::string default_text;                // "" if there is no default: then `has` is false unless a value is given
  std::string help;                        // one line
  std::vector<std::string> choices = {};   // for kText: the only allowed values; empty if any value is allowed
  std::vector<std::string> examples = {};  // if any value is allowed: values that shell completion may offer
  bool never_from_file = false;  // the value names code, so it is accepted only from command line and environment
};

// The largest count of steps, samples or ranks. Sums and small multiples of such counts fit into 64 bits.
inline constexpr std::int64_t kMostCount = 1'000'000'000'000'000;

// The resolved values of all options, with the source of each. If a value is wrong, its getter throws Error(kUsage),
// which names the option, its text, its source, and what would be right.
class OptionValues {
 public:
  struct Entry {
    OptionSpec spec;
    std::string text;
    std::string source;  // "default", "file train.ini", "environment EAVE_TAU", "command line"
    bool is_set = false;
  };

  void declare(const OptionSpec& spec);  // throws Error(kInternal) if the name is declared with another meaning
  void set_default(std::string_view name, std::string text);  // does not change a value that was set
  // Throws Error(kUsage) if the name is unknown or the value is not allowed.
  void set(std::string_view name, std::string text, std::string source);

  bool has(std::string_view name) const;    // it was set, or has a default
  bool given(std::string_view name) const;  // it was set; a default alone does not count
  const std::string& text(std::string_view name) const;
  // Throws Error(kUsage) unless the value is from `minimum` to `maximum`.
  std::int64_t integer(std::string_view name, std::int64_t minimum, std::int64_t maximum = kMostCount) const;
  std::uint64_t seed(std::string_view name) const;  // an integer from 0 to INT64_MAX
  double real(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::int64_t bytes(std::string_view name) const;
  double seconds(std::string_view name) const;
  double bytes_per_second(std::string_view name) const;

  const Entry& entry(std::string_view name) const;
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// The candidate nearest to `word` by edit distance, or "" if none is near enough to be a likely misspelling.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

// Throws Error(kUsage), which says that there is no `name`, and suggests the nearest known name or lists all of them.
[[noreturn]] void refuse_name(std::string_view name, const std::vector<std::string>& known);

// Finds the member of a family by its name, as in find_kind(communicator_kinds(), "easgd"). Throws Error(kUsage) if the
// family has no such member.
template <typename Kind>
const Kind& find_kind(const std::vector<Kind>& kinds, std::string_view name) {
  std::vector<std::string> known;
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
    known.push_back(kind.name);
  }
  refuse_name(name, known);
}

}  // namespace eave
