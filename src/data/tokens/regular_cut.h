// Cuts texts at the matches of a regular expression. It is written in Oniguruma's syntax and searched with ICU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct URegularExpression;  // ICU's

namespace eave {

// Not thread-safe.
class RegularCut {
 public:
  enum class Where { kBothEnds, kBegins, kEnds };  // of each match
  struct Rule {
    std::string pattern;
    bool is_text = false;  // no expression: the pattern itself is looked for
    Where where = Where::kBothEnds;
    bool must_match_all = false;  // what no match covers would be dropped
  };
  // `name` is the path of the file that has the rule. Throws Error(kBadData) if ICU might find other matches than
  // Oniguruma does, or cannot take the pattern.
  RegularCut(const Rule& rule, std::string name);

  // Replaces the ends of pieces by those of smaller pieces. The last is that of the text. A match sees only its piece.
  // Throws Error(kBadData) if ICU gives up, or something is not covered and must be.
  void cut(std::u16string_view text, std::vector<std::int32_t>& ends);

 private:
  struct Close {
    void operator()(URegularExpression* expression) const;
  };
  void cut_piece(std::int32_t begin, std::int32_t end, std::vector<std::int32_t>& ends);
  void check(int status) const;

  Rule rule_;
  std::string name_;
  std::unique_ptr<URegularExpression, Close> expression_;
};

// Writes a pattern of Oniguruma, as Hugging Face's tokenizers use it, in ICU's syntax. Knows the parts that mean the
// same in both, and that models use: groups, lookaheads, sets, \s \S \d \D \p \P, quantifiers, and (?i: ) around short
// words. Throws Error(kBadData) for all others.
std::string icu_pattern(std::string_view pattern, const std::string& name);

}  // namespace eave
