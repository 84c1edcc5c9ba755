// Patterns of Oniguruma in the syntax of ICU.
#include <algorithm>
#include <cctype>
#include <set>

#include "data/tokens/regular_cut.h"
#include "data/tokens/vocabulary_json.h"

namespace eave {
namespace {

bool is_punctuation(char letter) { return std::ispunct(static_cast<unsigned char>(letter)) != 0; }

// Categories of Unicode, and scripts that patterns of models name.
bool is_known_property(const std::string& name) {
  static const std::set<std::string> kScripts = {"Han", "Hangul", "Hiragana", "Katakana"};
  static const std::set<std::string> kCategories = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",
                                                    "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
                                                    "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp"};
  return kCategories.contains(name) || kScripts.contains(name);
}

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& name) : pattern_(pattern), name_(name) {}
  std::string translate() {
    while (at_ < pattern_.size()) element();
    return out_;
  }

 private:
  [[noreturn]] void refuse_from(std::size_t place) {
    at_ = place;
    refuse();
  }
  [[noreturn]] void refuse() const {
    refuse_kind(name_, "its pattern " + quoted_token(std::string(pattern_)) + " has from byte " + std::to_string(at_) +
                           " on " + quoted_token(std::string(pattern_.substr(std::min(at_, pattern_.size()), 8))) +
                           ", which eave does not know");
  }
  bool begins(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  char peek() const { return at_ < pattern_.size() ? pattern_[at_] : '\0'; }
  char take() {
    if (at_ >= pattern_.size()) refuse();
    return pattern_[at_++];
  }

  void element();
  void open_group();
  void check_ignoring_case() const;
  std::string character();
  std::string escape(bool in_set);
  std::string property();
  std::string set();
  void quantify(const std::string& atom);
  void quantify_count();

  std::string_view pattern_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::string out_;
};

void Translator::element() {
  const char next = peek();
  if (next == '(') return open_group();
  if (next == '|') {
    out_ += take();
  } else if (next == ')') {
    out_ += take();
    quantify("");
  } else if (next == '[') {
    quantify(set());
  } else if (next == '\\') {
    quantify(escape(false));
  } else if (std::string_view("*+?{}.^$]").find(next) != std::string_view::npos) {
    refuse();
  } else {
    quantify(character());
  }
}

void Translator::open_group() {
  for (const std::string_view kind : {"(?:", "(?=", "(?!", "(?i:"}) {
    if (!begins(kind)) continue;
    at_ += kind.size();
    out_ += kind;
    if (kind == "(?i:") check_ignoring_case();
    return;
  }
  ++at_;
  if (peek() == '?' || peek() == '*') refuse();
  out_ += "(?:";
}

// Only letters of ASCII, none of which are together the same as one of Unicode's, such as "ss" and the German letter.
void Translator::check_ignoring_case() const {
  const std::string_view words = pattern_.substr(at_, pattern_.substr(at_).find(')'));
  for (const char letter : words) {
    if (std::isalpha(static_cast<unsigned char>(letter)) == 0 &&
        std::string_view("'|[]").find(letter) == std::string_view::npos)
      refuse();
  }
  for (const std::string_view joined : {"ff", "fi", "fl", "ss", "st"}) {
    if (words.find(joined) != std::string_view::npos) refuse();
  }
}

// A character of UTF-8, which JSON was checked to be.
std::string Translator::character() {
  std::string letter(1, take());
  while ((peek() & 0xC0) == 0x80) letter += take();
  return letter;
}

std::string Translator::escape(bool in_set) {
  const std::size_t begin = at_++;
  const char letter = take();
  switch (letter) {
    case 'r':
    case 'n':
    case 't':
      return std::string("\\") + letter;
    case 's':
    case 'S':
    case 'd':
    case 'D':
      // ICU repeats sets, and nothing else, without memory.
      return in_set ? std::string("\\") + letter : std::string("[\\") + letter + "]";
    case 'p':
    case 'P':
      return std::string("\\") + letter + property();
    default:
      if (!is_punctuation(letter)) refuse_from(begin);
      return std::string("\\") + letter;
  }
}

std::string Translator::property() {
  const std::size_t end = pattern_.find('}', at_), begin = at_ - 2;  // of \p
  if (peek() != '{' || end == std::string_view::npos) refuse_from(begin);
  const std::string braces(pattern_.substr(at_, end + 1 - at_));
  if (!is_known_property(braces.substr(1, braces.size() - 2))) refuse_from(begin);
  at_ = end + 1;
  return braces;
}

std::string Translator::set() {
  std::string set(1, take());
  if (peek() == '^') set += take();
  if (peek() == ']') refuse();
  bool ends_range = false;  // what came last may not begin a range
  while (peek() != ']') {
    if (at_ >= pattern_.size() || peek() == '[' || begins("&&") || begins("--")) refuse();
    const bool is_dash = peek() == '-' && !begins("-]") && set.size() > 1 && set != "[^";
    if (is_dash && ends_range) refuse();
    if (is_dash) set += take();
    ends_range = is_dash;
    if (peek() == '\\') {
      const std::string escaped = escape(true);
      ends_range = ends_range || std::string_view("sSdDpP").find(escaped[1]) != std::string_view::npos;
      set += escaped;
    } else {
      if (is_punctuation(peek()) || peek() == ' ') set += '\\';
      set += character();
    }
  }
  return set + take();
}

// Appends the atom and its quantifier. "" stands for a group, which `out_` has.
void Translator::quantify(const std::string& atom) {
  out_ += atom;
  if (peek() == '{') return quantify_count();
  if (std::string_view("*+?").find(peek()) == std::string_view::npos || at_ >= pattern_.size()) return;
  const char first = take();
  // ICU keeps something of each turn of x+, so a long word could need more memory than it may take. It keeps nothing of
  // x*, if x is a set.
  out_ += first == '+' && !atom.empty() ? atom + "*" : std::string(1, first);
  if (peek() == '+' || peek() == '?') out_ += take();
  if (at_ < pattern_.size() && std::string_view("*+?{").find(peek()) != std::string_view::npos) refuse();
}

// {1}, {1,} or {1,3}, with numbers of at most two digits.
void Translator::quantify_count() {
  const std::size_t end = pattern_.find('}', at_);
  if (end == std::string_view::npos || end > at_ + 6) refuse();
  const std::string braces(pattern_.substr(at_, end + 1 - at_));
  const std::size_t comma = braces.find(',');
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.size() <= 2 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  const std::string last = comma == std::string::npos ? "" : braces.substr(comma + 1, braces.size() - comma - 2);
  if (!is_number(braces.substr(1, std::min(comma, braces.size() - 1) - 1)) || !(last.empty() || is_number(last)))
    refuse();
  at_ = end + 1;
  out_ += braces;
  if (at_ < pattern_.size() && std::string_view("*+?{").find(peek()) != std::string_view::npos) refuse();
}

}  // namespace

std::string icu_pattern(std::string_view pattern, const std::string& name) {
  return Translator(pattern, name).translate();
}

}  // namespace eave
