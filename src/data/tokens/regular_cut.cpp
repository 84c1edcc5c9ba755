#include "data/tokens/regular_cut.h"

#include <unicode/uregex.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <utility>

#include "data/tokens/vocabulary_json.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::int32_t kMostStackBytes = 1 << 28;

// ICU counts 10,000 places that it may return to as 1. Patterns of models have about 2 of them for each character. This
// allows 100, and a second for short texts.
std::int32_t most_steps(std::int32_t units) { return 10000 + units / 100; }

std::u16string units_of(const std::string& text) {
  std::int32_t size = 0;
  UErrorCode status = U_ZERO_ERROR;
  std::u16string units(text.size() + 1, u'\0');
  u_strFromUTF8(units.data(), static_cast<std::int32_t>(units.size()), &size, text.data(),
                static_cast<std::int32_t>(text.size()), &status);
  units.resize(static_cast<std::size_t>(size));
  return units;
}

}  // namespace

void RegularCut::Close::operator()(URegularExpression* expression) const { uregex_close(expression); }

RegularCut::RegularCut(const Rule& rule, std::string name) : rule_(rule), name_(std::move(name)) {
  if (rule.pattern.empty() || rule.pattern.size() > 10000)
    refuse_kind(name_, "its Split has no pattern of usual length");
  const std::u16string units = units_of(rule.is_text ? rule.pattern : icu_pattern(rule.pattern, name_));
  UErrorCode status = U_ZERO_ERROR;
  const std::uint32_t flags = rule.is_text ? UREGEX_LITERAL : 0;
  expression_.reset(uregex_open(units.data(), static_cast<std::int32_t>(units.size()), flags, nullptr, &status));
  if (U_FAILURE(status) != 0)
    refuse_kind(name_,
                "ICU does not take its pattern " + quoted_token(rule.pattern) + " (" + u_errorName(status) + ")");
  uregex_setStackLimit(expression_.get(), kMostStackBytes, &status);
  check(status);
}

void RegularCut::cut(std::u16string_view text, std::vector<std::int32_t>& ends) {
  UErrorCode status = U_ZERO_ERROR;
  uregex_setText(expression_.get(), text.data(), static_cast<std::int32_t>(text.size()), &status);
  check(status);
  std::vector<std::int32_t> finer;
  std::int32_t begin = 0;
  for (const std::int32_t end : ends) {
    cut_piece(begin, end, finer);
    begin = end;
  }
  ends.swap(finer);
}

void RegularCut::cut_piece(std::int32_t begin, std::int32_t end, std::vector<std::int32_t>& ends) {
  UErrorCode status = U_ZERO_ERROR;
  URegularExpression* const expression = expression_.get();
  uregex_setRegion(expression, begin, end, &status);
  uregex_setTimeLimit(expression, most_steps(end - begin), &status);
  std::int32_t done = begin, matched = begin;
  bool covers = true;
  const auto add = [&](std::int32_t at) {
    if (at > done) ends.push_back(done = at);
  };
  while (uregex_findNext(expression, &status) != 0) {
    const std::int32_t first = uregex_start(expression, 0, &status);
    if (rule_.where != Where::kEnds) add(first);
    covers = covers && first == matched;
    matched = uregex_end(expression, 0, &status);
    if (rule_.where != Where::kBegins) add(matched);
  }
  check(status);
  add(end);
  if (rule_.must_match_all && !(covers && matched == end)) {
    throw Error(ExitCode::kBadData, name_ +
                                        ": its pattern does not match all of the text, and its behavior Removed "
                                        "would drop the rest: name another with --vocabulary");
  }
}

void RegularCut::check(int status) const {
  const auto code = static_cast<UErrorCode>(status);
  if (U_SUCCESS(code) != 0) return;
  throw Error(ExitCode::kBadData, name_ + ": searching the text for its pattern " + quoted_token(rule_.pattern) +
                                      " failed (" + u_errorName(code) + "): name another with --vocabulary");
}

}  // namespace eave
