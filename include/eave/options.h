// Options as data: a member of a family (a communicator, a dataset …) declares its own, the program merges them all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace eave {

enum class OptionType { kText, kPath, kPaths, kInteger, kReal, kFlag, kBytes, kSeconds, kRate };

// One option as people see it: `--name`. Values travel as text until a typed getter of OptionValues reads them.
// kPath is a file's or directory's name, in which a leading ~ is a home directory; kPaths is several of them with
// commas between. kBytes reads "64k", "25MiB"; kSeconds "5ms", "2s"; kRate "1gbit", "100mbit", "10MB/s" (bytes per
// second); kFlag "on|off" (a bare --name means on).
struct OptionSpec {
  std::string name;  // as typed, without dashes: "bucket-bytes"
  OptionType type = OptionType::kText;
  std::string default_text;                // "" = not set (then `has` is false unless given)
  std::string help;                        // one line
  std::vector<std::string> choices = {};   // for kText: the only values allowed; empty = any
  std::vector<std::string> examples = {};  // where any is allowed: values that a shell may offer
  bool never_from_file = false;            // names code: from the command line or the environment alone
};

// Counts of steps, samples or ranks end here, so that sums and small multiples of them fit into 64 bits.
inline constexpr std::int64_t kMostCount = 1'000'000'000'000'000;

// Resolved values, with where each came from. Getters throw Error(kUsage) that names the option, the text that was
// given, where it was given, and what would be right.
class OptionValues {
 public:
  struct Entry {
    OptionSpec spec;
    std::string text;
    std::string source;  // "default", "file train.ini", "environment EAVE_TAU", "command line"
    bool is_set = false;
  };

  void declare(const OptionSpec& spec);  // throws Error(kInternal) when a name is declared twice with another meaning
  void set_default(std::string_view name, std::string text);              // a value that was set stays
  void set(std::string_view name, std::string text, std::string source);  // Error(kUsage) for an unknown name or value

  bool has(std::string_view name) const;    // set, or has a default
  bool given(std::string_view name) const;  // set by a person: not by default
  const std::string& text(std::string_view name) const;
  // From `minimum` to `maximum`, or Error(kUsage).
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

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be what was meant.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

// Throws Error(kUsage): there is no `name`; what was meant, or all that there are.
[[noreturn]] void refuse_name(std::string_view name, const std::vector<std::string>& known);

// The member of a family by its name, as find_kind(communicator_kinds(), "easgd"). Throws Error(kUsage) where none is
// called so.
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
